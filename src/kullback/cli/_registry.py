"""The names that estimators have on the command line."""

import re

from kullback.estimators import REGISTRY


def estimator_commands() -> dict[str, str]:
    """Return the class of each command that fits: gaussian-mixture fits a GaussianMixture."""
    fitted = [name for name, entry in REGISTRY.items() if entry.capabilities.has_command]
    return {command_name(name): name for name in sorted(fitted, key=command_name)}


def command_name(kind: str) -> str:
    """Return the name of a class as a command.

    >>> command_name("ProbabilisticPCA"), command_name("GaussianHMM"), command_name("HMM")
    ('probabilistic-pca', 'gaussian-hmm', 'hmm')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()
