"""Arrays with a JSON header as the bytes of a safetensors file: the same bytes for the same content."""

import json
from typing import Any


def pack_tensors(format: str, header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """Return the content of a file.

    The metadata has one key: safetensors writes several in an order that differs from process to process.
    """
    from safetensors.numpy import save

    return save(arrays, metadata={"header": json.dumps({"format": format, **header})})


def has_format(format: str, metadata: dict[str, str], header: Any) -> bool:
    """Whether a file is of this format. Files of version 0.1 say so beside their header."""
    return isinstance(header, dict) and format in (metadata.get("format"), header.get("format"))
