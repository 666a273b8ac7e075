"""What chains need that the library does not install by itself."""

import importlib


def check_sampling() -> None:
    """Raise one sentence that says what to install, unless chains can be drawn and diagnosed here."""
    for name, shown in (("blackjax", "blackjax"), ("arviz_stats", "arviz-stats")):
        try:
            importlib.import_module(name)
        except ImportError:
            raise ImportError(
                f"{shown} is not installed, and draws from the posterior need it: pip install 'kullback[sampling]'."
            ) from None
