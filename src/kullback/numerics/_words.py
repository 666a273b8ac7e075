"""Words for sentences: a noun with its article, and so many of a thing."""


def with_article(noun: str) -> str:
    """Return a noun behind "a" or "an"; letters of an abbreviation are spelled.

    >>> with_article("Exponential"), with_article("Gamma"), with_article("HMM"), with_article("str")
    ('an Exponential', 'a Gamma', 'an HMM', 'a str')
    """
    spelled = noun[:2].isupper() and len(noun) > 1
    vowel = noun[:1] in "AEFHILMNORSX" if spelled else noun[:1].lower() in "aeiou"
    return f"{'an' if vowel else 'a'} {noun}"


def counted(count: int, noun: str) -> str:
    """Return so many of a thing, whose plural ends in s.

    >>> counted(1, "coordinate"), counted(2_000, "coordinate")
    ('1 coordinate', '2,000 coordinates')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
