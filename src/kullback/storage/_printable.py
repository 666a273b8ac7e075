"""Text from anywhere, such as names of columns in a file, as it may be shown on a terminal."""

import re

#: Control characters, halves of surrogate pairs, separators of lines, and what turns the direction of writing around.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return a text with escapes in place of all that a terminal would obey and not show.

    >>> printable("a\x1b[31mb\u202e")
    'a\\x1b[31mb\\u202e'
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_json(text: str) -> str:
    r"""Return JSON that means the same, without such characters.

    >>> printable_json('{"\x9b": 1}')
    '{"\\u009b": 1}'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def sentence(text: object, most: int = 300) -> str:
    r"""Return a message as one line of bounded length.

    >>> sentence("n is [1\n 2]"), len(sentence("x" * 10_000))
    ('n is [1 2]', 300)
    """
    line = " ".join(str(text).split())
    if len(line) <= most:
        return line
    end = most // 3
    return f"{line[: most - end - 3]} … {line[len(line) - end :]}"
