"""What the README shows runs as it stands: in a fresh process, in JAX's 32-bit mode, with estimators in 64 bits."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_code_of_the_readme_runs(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
    assert "kullback.combine" in code
    plain = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    run = subprocess.run(
        [sys.executable, "-c", code + "\nprint(together.means_.shape)"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=plain,
    )
    assert run.stdout.strip() == "(3, 2)", run.stderr
