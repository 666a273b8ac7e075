"""Lengths of arrays that are filled up, so that data of about one size shares what is compiled."""


def round_length(count: int) -> int:
    """Return a round number that is not below `count`, and above it by an eighth or 63 at most.

    >>> round_length(1000), round_length(1030)
    (1024, 1152)
    """
    step = max(64, 2 ** (count.bit_length() - 4))
    return count + -count % step
