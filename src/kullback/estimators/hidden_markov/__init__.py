"""Hidden Markov models behind hmmlearn's door: an estimator for each kind of emission."""

from kullback.estimators.hidden_markov._categorical import CategoricalHMM
from kullback.estimators.hidden_markov._family import HMM
from kullback.estimators.hidden_markov._gaussian import GaussianHMM
from kullback.estimators.hidden_markov._monitor import ConvergenceMonitor
from kullback.estimators.hidden_markov._multinomial import MultinomialHMM
from kullback.estimators.hidden_markov._poisson import PoissonHMM

__all__ = ["HMM", "CategoricalHMM", "ConvergenceMonitor", "GaussianHMM", "MultinomialHMM", "PoissonHMM"]
