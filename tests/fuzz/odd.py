"""Numbers and words at the borders of what there is."""

import math

DOUBLES = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan, 5e-324, 1e-308, 1e-300, 1e-150, 1e150, 1e154, 1e200,
    1e300, -1e300, 1.7976931348623157e308, -1.7976931348623157e308, 1e16, 2.0**53, 2.0**63, 1e9, 1e19, 1 + 2**-52,
)  # fmt: skip

INTEGERS = (
    0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53,
    2**62, 2**63 - 1, -(2**63), 2**64 - 1, 10**6, 10**9, 10**12,
)  # fmt: skip

TEXTS = (
    "", "x", "a", "0", "-1", "nan", "inf", "\x1b[31m", "\x1b]0;p\a", "a\nb", "a\rb", "\u202e", "é", "ü" * 50, "\x00",
    "../../x", "/dev/null", "%s", "{}", "<script>", "\ud800", "z" * 600, "True", "none", "gaussian", "categorical",
)  # fmt: skip

#: What a terminal would obey.
ESCAPES = ("\x1b[31m", "\x1b]0;p\a", "a\x08b", "\x9b1m", "a\x1bc")

#: What a field of a table may say.
FIELDS = (
    b"", b"1", b"-1", b"0", b"1e9", b"1e19", b"1000000000", b"10000000000000000000", b"99999999", b"2147483648",
    b"1e308", b"-1e308", b"1e309", b"1e999", b"inf", b"-inf", b"Infinity", b"nan", b"NaN", b"NA", b"null", b"true",
    b"0x10", b"1_000", b"1,5", b'"1,5"', b'"1,000"', b"2020-01-01", b"2020-01-01T00:00:00Z", b"12:30", b'"',
    b'""', b'"x', b'x"', b"'", b"red", b"h\xf6he", b"h\xc3\xb6he", b"\xff", b"\x00", b"\xef\xbb\xbf", b"\xd9\xa1",
    b" 1 ",
    b"1 2", b"=1+1",
    b"\x1b[31m", b"#", b"\\", b"1" * 400, b"w" * 600, b"5e-324", b"-0", b"1.", b".5", b"+1", b"--1",
)  # fmt: skip

#: Numbers that a field of a table may say: what is a number of categories, a count, or a size nowhere.
NUMBERS = (
    b"-1", b"0.5", b"1e9", b"1e19", b"1000000000", b"10000000000000000000", b"99999999", b"10000000", b"2147483648",
    b"1e308", b"-1e308", b"1e150", b"5e-324", b"1e-160",
)  # fmt: skip
