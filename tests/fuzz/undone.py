"""Mends, each as pieces of text and what to write in their place to undo it."""

_HEADER = "    if min(shape) < 0 or rows * width * dtype.itemsize > size - start or (rows == 0 and width > _WIDEST):"
_KNOWN = "(ValueError, TypeError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError, EOFError)"
_RANKED = "    return jnp.zeros_like(count).at[jnp.argsort(keys, stable=True)].set(count, unique_indices=True)"

#: Name of a mend: files of the library, what is there, and what was there or would be without it.
UNDONE: dict[str, list[tuple[str, str, str]]] = {
    "lines that are no objects are kept from pyarrow": [
        ("sources/_json_lines.py", "    lines = _lines_of_objects(data)", '    lines = data.count(b"\\n")'),
    ],
    "Arrow tables are validated": [
        ("sources/_arrow_file.py", "check_table(batch, self.name, batch.schema.names)", "pass"),
    ],
    "errors while columns are filled are sentences": [
        ("sources/_batches.py", 'with report_damage(part.name, "table that can be used"):', "if True:"),
    ],
    "NPY and NPZ: sizes are compared with the bytes": [("sources/_npy_header.py", _HEADER, "    if False:")],
    "NPY and NPZ: headers that are no headers": [("sources/_npy_header.py", _KNOWN, "ValueError")],
    "NPZ: encrypted": [("sources/_npz.py", "if info.flag_bits & 1:", "if False:")],
    "NPZ: members that are no arrays": [
        (
            "sources/_npz.py",
            "self._member = info.filename",
            'self._member = info.filename.removesuffix(".npy") + ".npy"',
        ),
        ("sources/_npz.py", " if _is_array(info)}", "}"),
    ],
    "wide tables get room for the rows that are there": [
        ("sources/_batches.py", "np.empty((rows_at_once(width, size), width))", "np.empty((size, width))"),
    ],
    "wide CSV is linear in its columns": [
        ("sources/_columns.py", "places.append(known[each])", "places.append(names.index(each))"),
    ],
    "places of checkpoints are validated": [
        ("cli/_progress.py", "        if not fits:", "        if False:"),
        ("sources/_source.py", "        check_position(", "        (lambda *args: None)("),
    ],
    "zstd is read": [("sources/_compressed.py", 'SUFFIXES = (".gz", ".zst")', 'SUFFIXES = (".gz",)')],
    "named pipes are streams": [
        ("sources/_files.py", "    return not (stat.S_ISREG(mode)", "    return False and (stat.S_ISREG(mode)")
    ],
    "categories are limited": [("estimators/data/_columns.py", "    if largest >= most:", "    if False:")],
    "points are ranked by sorting": [
        (
            "search/methods/_ranking.py",
            _RANKED,
            "    return jnp.sum(keys[None] < keys[:, None], axis=1).astype(jnp.int32)",
        ),
    ],
    "attributes of model files are validated": [("estimators/_file.py", "check_attribute(name, value)", "pass")],
    "parameters of model files are validated": [
        ("estimators/_file.py", "check_parameters(estimator)", "estimator._validate_params()"),
    ],
    "sizes of model files come before what is allocated": [
        ("estimators/_model_estimator.py", "            check_size(self", "            (lambda *args: None)(self"),
    ],
    "equal models are equal bytes": [
        (
            "storage/_tensor_file.py",
            'metadata={"header": json.dumps({"format": format, **header})}',
            'metadata={"format": format, "header": json.dumps(header)}',
        ),
    ],
    "terminals get no escapes": [
        (
            "storage/_printable.py",
            "    return _UNSAFE.sub(lambda found: found[0].encode",
            "    return text or (lambda found: found[0].encode",
        )
    ],
    "sentences are short": [("storage/_printable.py", "    if len(line) <= most:", "    if True:")],
}
