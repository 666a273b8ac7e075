"""`python -m reference`: write the reference values, or compare with them. It needs `PYTHONPATH=tests`.

Another checkout writes its values, or is compared, with `PYTHONPATH=<checkout>/src:tests`.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from conftest import FAST_COMPILE  # setting what tests compute with

assert FAST_COMPILE


def main() -> int:
    """Read the command line, and do it."""
    parser = argparse.ArgumentParser(prog="python -m reference", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write", help="compute all cases, and keep what they return")
    compare = commands.add_parser("compare", help="print how far each case is from what was kept, and its time")
    compare.add_argument("words", nargs="*", help="words of the names of cases; all cases without them")
    for each in (write, compare):
        each.add_argument("--path", type=Path, help="the file, if it is another one")
    asked = parser.parse_args()
    import kullback
    from reference import values

    print(f"kullback of {Path(kullback.__file__).parent}, XLA_FLAGS={os.environ.get('XLA_FLAGS', '')!r}")
    path = asked.path or values.PATH
    if asked.command == "compare":
        return _compare(path, asked.words)
    values.write(path)
    print(f"{len(values.CASES)} cases in {path.stat().st_size:,} bytes")
    return 0


def _compare(path: Path, words: list[str]) -> int:
    from reference.values import CASES, TOLERANCE, deviations, read

    kept, far, total = read(path), 0, 0.0
    known = {name for arrays in kept.values() for name in arrays}
    for case in CASES:
        if not all(word in case for word in words):
            continue
        began = time.process_time()
        found = deviations(CASES[case](), kept.get(case, {}), known)
        spent = time.process_time() - began
        worst = max(found, key=lambda name: found[name])
        far, total = far + (found[worst] > TOLERANCE), total + spent
        mark = "  far" if found[worst] > TOLERANCE else ""
        print(f"{case:<80}{spent:>6.2f} s {found[worst]:>9.1e} {worst}{mark}", flush=True)
    print(f"{far} cases are farther than {TOLERANCE:g}; {total:.1f} s of the processor")
    return int(far > 0)


if __name__ == "__main__":
    sys.exit(main())
