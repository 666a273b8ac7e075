"""What may have been meant by a command that is not there."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from kullback.cli._texts import ALIASES


def unknown_command(name: str, known: Sequence[str]) -> str:
    """Return a sentence with the commands that are like a name, or all of them."""
    like = difflib.get_close_matches(name.lower(), known, n=1)
    like = [each for each in known if len(name) > 1 and each.startswith(name.lower())] or like
    if like:
        return f"There is no command {name!r}: did you mean {_either(like)}?"
    return f"There is no command {name!r}: the commands are {', '.join(known)}."


def unknown_kind(name: str, known: Sequence[str]) -> str:
    """Return a sentence with the kinds of models that are like a name, or all of them."""
    asked = name.lower().replace("_", "-")
    if name == "-" or Path(name).exists() or Path(name).suffix:
        return f"`kullback fit` needs a kind of model before {name}: {', '.join(known)}."
    plain = {each.replace("-", ""): each for each in known}
    if asked in ALIASES:
        like = [ALIASES[asked]]
    elif asked.replace("-", "") in plain:
        like = [plain[asked.replace("-", "")]]
    else:
        begins = [each for each in known if len(asked) > 1 and each.startswith(asked)]
        like = begins or difflib.get_close_matches(asked, known, n=2)
    if like:
        return f"There is no kind of model {name!r}: did you mean {_either(like)}?"
    return f"There is no kind of model {name!r}: the kinds are {', '.join(known)}."


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)
