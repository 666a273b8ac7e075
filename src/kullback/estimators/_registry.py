"""The estimators of the library: where each is, and what it can be asked. Nothing is imported before it is used."""

from typing import Any, Literal, NamedTuple

from kullback._loading import load_name


class Capabilities(NamedTuple):
    """What an estimator learns from, and which questions it answers besides `score` and `sample`."""

    #: "rows" are independent; of "sequences" they follow each other in time, so `partial_fit` takes `continues`;
    #: "pairs" are rows of inputs with their targets y.
    data: Literal["rows", "sequences", "pairs"] = "rows"
    predicts: bool = False  # `predict`: the component or state of each row
    decodes: bool = False  # `decode`: the path of hidden states
    smooths: bool = False  # `smooth`: moments of the hidden state, given the whole sequence
    forecasts: bool = False  # `forecast`: the next rows
    imputes: bool = True  # `impute`: missing entries
    takes_inputs: bool = False  # `inputs` beside the rows
    has_epochs: bool = False  # `fit` goes through the rows again and again, by steps along gradients
    streams_only: bool = False  # it learns online, and there is no batch EM
    has_command: bool = True  # `kullback fit NAME`


class Entry(NamedTuple):
    """A line of the registry: the module of a class in this room, and what the class can do."""

    module: str
    capabilities: Capabilities = Capabilities()


_MIXTURE = Capabilities(predicts=True)
_HIDDEN_MARKOV = Capabilities("sequences", predicts=True, decodes=True, forecasts=True)
_NETWORK = Capabilities(has_epochs=True)
_CONDITIONAL = Capabilities("pairs", imputes=False)
_SPIKING = Capabilities("sequences", imputes=False, streams_only=True)
_LINEAR_SYSTEM = Capabilities("sequences", smooths=True, forecasts=True, takes_inputs=True)

#: Every estimator that a file can hold, and the command can fit unless it says otherwise, by the name of its class.
REGISTRY: dict[str, Entry] = {
    "HMM": Entry("hidden_markov._family", _HIDDEN_MARKOV),
    "BernoulliRBM": Entry("gradient._bernoulli_rbm", _NETWORK),
    "BernoulliMixture": Entry("mixtures._discrete_mixtures", _MIXTURE),
    "CategoricalHMM": Entry("hidden_markov._categorical", _HIDDEN_MARKOV),
    "CategoricalMixture": Entry("mixtures._discrete_mixtures", _MIXTURE),
    "Classifier": Entry("conditional._classifier", _CONDITIONAL),
    "CompoundDirichlet": Entry("_compound_dirichlet"),
    "EnergySampler": Entry("gradient._energy_sampler", Capabilities(has_epochs=True, has_command=False)),
    "FactorAnalysis": Entry("_factor_estimators"),
    "GaussianHMM": Entry("hidden_markov._gaussian", _HIDDEN_MARKOV),
    "GaussianMixture": Entry("mixtures._gaussian_mixture", _MIXTURE),
    "GaussianRBM": Entry("gradient._gaussian_rbm", _NETWORK),
    "HelmholtzMachine": Entry("gradient._helmholtz_machine", _NETWORK),
    "LinearDynamicalSystem": Entry("linear._linear_dynamical_system", _LINEAR_SYSTEM),
    "Mixture": Entry("mixtures._family_mixture", _MIXTURE),
    "MultinomialHMM": Entry("hidden_markov._multinomial", _HIDDEN_MARKOV),
    "PoissonHMM": Entry("hidden_markov._poisson", _HIDDEN_MARKOV),
    "PoissonMixture": Entry("mixtures._discrete_mixtures", _MIXTURE),
    "ProbabilisticPCA": Entry("_factor_estimators"),
    "Regressor": Entry("conditional._regressor", _CONDITIONAL),
    "SpikingNetwork": Entry("process._spiking_network", _SPIKING),
    "VariationalAutoencoder": Entry("gradient._variational_autoencoder", _NETWORK),
}


def estimator_class(name: str) -> Any:
    """Return the class with a name of the registry."""
    return load_name(f"kullback.estimators.{REGISTRY[name].module}", name)
