"""What chains need that the library does not install by itself."""

import importlib


def check_sampling(*needed: str) -> None:
    """Raise one sentence that says what to install, unless chains can be drawn and diagnosed here.

    `needed` are modules, by default all that chains need.
    """
    for name in needed or ("blackjax", "arviz_stats"):
        try:
            importlib.import_module(name)
        except ImportError:
            shown = name.replace("_", "-")
            raise ImportError(
                f"{shown} is not installed, and draws from the posterior need it: pip install 'kullback[sampling]'."
            ) from None
