"""Hidden Markov models: a hidden state moves among a few, and has a distribution of the visible for each."""

from kullback.models.hidden_markov._model import HiddenMarkovModel
from kullback.models.hidden_markov._statistics import HiddenMarkovStatistics

__all__ = ["HiddenMarkovModel", "HiddenMarkovStatistics"]
