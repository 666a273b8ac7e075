"""Text that is something else: what it is in truth, and what to do."""

import re

_BINARY = {
    b"\x1f\x8b": ("a gzip file", "let its name end in .gz, after the suffix of the text (as in x.csv.gz)"),
    b"\x28\xb5\x2f\xfd": (
        "a Zstandard file",
        "let its name end in .zst, after the suffix of the text (as in x.csv.zst)",
    ),
    b"BZh": ("a bzip2 file", "decompress it (bunzip2)"),
    b"\xfd7zXZ": ("an xz file", "decompress it (unxz)"),
    b"PK\x03\x04": ("a ZIP archive, as spreadsheets are", "save what is in it as CSV"),
    b"PAR1": ("a Parquet file", "let its name end in .parquet, or say the format 'parquet'"),
    b"ARROW1": ("an Arrow file", "let its name end in .arrow, or say the format 'arrow'"),
    b"\x93NUMPY": ("an NPY file", "let its name end in .npy, or say the format 'npy'"),
    b"SQLite format 3\x00": ("an SQLite database", "export the table as CSV"),
    b"\xff\xfe": ("UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save it as UTF-8"),
}

#: What tells a file of letters and digits from one that begins with some.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a]")


def check_is_text(data: bytes, name: str) -> None:
    """Refuse data that begins as other files do, or has many lines and no line end."""
    for magic, (what, to_do) in _BINARY.items():
        if data.startswith(magic) and not (magic.isalnum() and _CONTROL.search(data[:1000]) is None):
            raise ValueError(f"{name} is {what}, and not UTF-8 text: {to_do}.")
    if b"\r" in data and b"\n" not in data and data.find(b"\r") < len(data.rstrip(b"\r")):
        raise ValueError(f"{name} has lines that end in a carriage return alone: write them with \\n (tr '\\r' '\\n').")


#: What may stand between fields: how it is called, and what to do where it does.
_SEPARATORS = {
    ",": ("commas", "say the format 'csv'"),
    "\t": ("tabs", "say the format 'tsv'"),
    ";": ("semicolons", "write commas, and decimals with a point"),
    "|": ("bars", "write commas"),
}


def check_separator(lines: list[str], delimiter: str, name: str) -> None:
    """Refuse lines that have no delimiter in the first, and in most of them something else as often as it has."""
    first, *others = lines
    for separator, (what, to_do) in _SEPARATORS.items():
        count = 0 if separator == delimiter else first.count(separator)
        if count and sum(line.count(separator) == count for line in others) * 2 > len(others):
            raise ValueError(f"{name} has {what} between its fields, and not {_SEPARATORS[delimiter][0]}: {to_do}.")
