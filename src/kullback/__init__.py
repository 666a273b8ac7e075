"""Hidden-variable models learned by minimizing relative entropy.

Rooms, bottom to top: `families`, `geometry`, `models`, `learning`, `search`, `estimators`, `plots`. What is used most
is here.
"""

from typing import Any

from kullback._compilation_cache import enable_compilation_cache
from kullback._loading import load_name
from kullback.estimators import REGISTRY

__version__ = "0.1.0"

#: Rooms and names load when they are first used, so that `import kullback` is quick.
_ROOMS = (
    "families",
    "geometry",
    "models",
    "learning",
    "search",
    "assess",
    "sources",
    "estimators",
    "distributed",
    "plots",
    "report",
)
_NAMES = (*REGISTRY, "Imputer", "combine", "complete", "load", "relative_entropy")
_SEARCHES = ("minimize", "minimize_binary")
_ASSESSMENTS = ("race", "select", "tune")
_PICTURES = ("plot",)

__all__ = ["__version__", "enable_compilation_cache", *_NAMES, *_SEARCHES, *_ASSESSMENTS, *_PICTURES, *_ROOMS]  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return load_name(f"kullback.{name}")
    if name in _NAMES:
        return load_name("kullback.estimators", name)
    if name in _SEARCHES:
        return load_name("kullback.search", name)
    if name in _ASSESSMENTS:
        return load_name("kullback.assess", name)
    if name in _PICTURES:
        return load_name("kullback.report", name)
    raise AttributeError(f"module 'kullback' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
