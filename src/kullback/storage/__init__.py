"""Files: written whole or not at all, read without trust, the same bytes for the same content."""

from kullback.storage._atomic_write import atomic_file, atomic_write, check_writable, name_in_errors, remove_leftovers
from kullback.storage._file_lock import lock_file
from kullback.storage._printable import printable, printable_json, sentence
from kullback.storage._tensor_file import has_format, pack_tensors
from kullback.storage._untrusted import is_count, quote

__all__ = [
    "atomic_file",
    "atomic_write",
    "check_writable",
    "has_format",
    "is_count",
    "lock_file",
    "name_in_errors",
    "pack_tensors",
    "printable",
    "printable_json",
    "quote",
    "remove_leftovers",
    "sentence",
]
