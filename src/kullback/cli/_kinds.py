"""The names that estimators have on the command line."""

import re


def kinds() -> dict[str, type]:
    """Return every estimator of the library by its name here: GaussianMixture is gaussian-mixture."""
    from kullback import estimators

    return {command_name(name): getattr(estimators, name) for name in sorted(estimators.SAVED, key=command_name)}


def command_name(kind: str) -> str:
    """Return the name of a class as a command.

    >>> command_name("ProbabilisticPCA"), command_name("GaussianHMM"), command_name("HMM")
    ('probabilistic-pca', 'gaussian-hmm', 'hmm')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()
