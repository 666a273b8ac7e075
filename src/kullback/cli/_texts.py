"""What the help of `kullback fit` says of each kind of model and of each of its options.

Docstrings are for Python: they speak of calls, attributes_ and None. Here is what the same parameter means on a command
line, one sentence or two for each. Names, types and defaults are not repeated: they are those of the constructor.
"""

#: One line for each kind.
SUMMARIES = {
    "BernoulliMixture": "A mixture model of columns of 0 and 1.",
    "BernoulliRBM": "A restricted Boltzmann machine of columns of 0 and 1.",
    "CategoricalHMM": "A hidden Markov model of one column of symbols.",
    "CategoricalMixture": "A mixture model of columns of categories.",
    "Classifier": "The probability of each class, given other columns.",
    "CompoundDirichlet": "Rows of counts with varying proportions.",
    "FactorAnalysis": "Factor analysis of columns of numbers.",
    "GaussianHMM": "A hidden Markov model of columns of numbers.",
    "GaussianMixture": "A Gaussian mixture model of columns of numbers.",
    "GaussianRBM": "A restricted Boltzmann machine of columns of numbers.",
    "HMM": "A hidden Markov model of columns of any kind.",
    "HelmholtzMachine": "Layers of binary units, for columns of 0 and 1.",
    "LinearDynamicalSystem": "A Kalman filter whose parameters are learned.",
    "Mixture": "A mixture model of columns of any kind.",
    "MultinomialHMM": "A hidden Markov model of rows of counts.",
    "PoissonHMM": "A hidden Markov model of columns of counts.",
    "PoissonMixture": "A mixture model of columns of counts.",
    "ProbabilisticPCA": "Principal components as a probability model.",
    "Regressor": "The distribution of numbers, given other columns.",
    "SpikingNetwork": "A network that learns a stream online, with constant memory.",
    "VariationalAutoencoder": "A few hidden numbers for each row, for columns of any kind.",
}

#: What a kind is called elsewhere.
ALIASES = {
    "gmm": "gaussian-mixture",
    "gaussian": "gaussian-mixture",
    "kmeans": "mixture",
    "k-means": "mixture",
    "cluster": "mixture",
    "clustering": "mixture",
    "lca": "categorical-mixture",
    "latent-class": "categorical-mixture",
    "markov": "hmm",
    "lds": "linear-dynamical-system",
    "kalman": "linear-dynamical-system",
    "kalman-filter": "linear-dynamical-system",
    "ssm": "linear-dynamical-system",
    "state-space": "linear-dynamical-system",
    "pca": "probabilistic-pca",
    "ppca": "probabilistic-pca",
    "fa": "factor-analysis",
    "dirichlet-multinomial": "compound-dirichlet",
    "regression": "regressor",
    "linear-regression": "regressor",
    "glm": "regressor",
    "poisson-regression": "regressor",
    "boosting": "regressor",
    "classification": "classifier",
    "logistic": "classifier",
    "rbm": "bernoulli-rbm",
    "boltzmann": "bernoulli-rbm",
    "boltzmann-machine": "bernoulli-rbm",
    "helmholtz": "helmholtz-machine",
    "wake-sleep": "helmholtz-machine",
    "rnn": "spiking-network",
    "recurrent": "spiking-network",
    "spiking": "spiking-network",
    "vae": "variational-autoencoder",
    "autoencoder": "variational-autoencoder",
    "sigmoid-belief-network": "helmholtz-machine",
    "logistic-regression": "classifier",
}

_STATES = "s for the start, t for transitions, "
_LETTERS = {
    "CategoricalHMM": _STATES + "e for the probabilities of symbols",
    "GaussianHMM": _STATES + "m for means, c for covariances",
    "HMM": _STATES + "e for emissions",
    "MultinomialHMM": _STATES + "e for the probabilities of categories",
    "PoissonHMM": _STATES + "l for rates",
}
_COVARIANCES = (
    "full: any covariance. tied: one for all {0}. diag: no correlations. spherical: one variance for each {1}."
)
_FACTORS = "The number of factors, fewer than there are columns. none: one less than the rank of the covariance."
_FAMILIES = (
    "The family of all columns together, or of each column, with commas: gaussian, diagonal_gaussian, "
    "spherical_gaussian, bernoulli, categorical, poisson, exponential, gamma, beta, von_mises, dirichlet, multinomial, "
    "compound_dirichlet or ising. auto: text is categorical, true and false are bernoulli, numbers are gaussian."
)
_CATEGORIES = (
    "The number of categories of all columns, or of each column, with commas. none: counted in the data; a stream that "
    "brings new categories later needs a number."
)
_CLUSTERS = "How components are placed at the start: by clusters of rows, or at random."

#: What an option means in all kinds.
OPTIONS = {
    "alpha": "The ridge penalty of the coefficients of a linear model: half of it times the sum of their squares.",
    "algorithm": "viterbi: the most probable path of states. map: the most probable state of each row.",
    "batch_size": "The number of rows of one step of a network.",
    "binarize": "Numbers above this are 1, all others 0. none: every entry must be 0 or 1 already.",
    "centered": "Take gradients with units seen from their means, which forgives a wrong rate.",
    "covariance_type": _COVARIANCES.format("components", "component"),
    "activation": "What stands between the layers of a network.",
    "covars_prior": "The scale of the inverse gamma or inverse Wishart prior of the covariances.",
    "covars_weight": "The degrees of freedom of the prior of the covariances.",
    "damping": "What is added to the metric of the natural gradient; a learning rate above it is unsafe.",
    "discount": "The share of the blame for a row that is left after one more row; longer lags need one nearer to 1.",
    "dispersion": "constant: the spread is one number. linear: it depends on the other columns too (linear models).",
    "draws": "Guesses of what is hidden for each row of a step. none: 10, and 1 for wake-sleep.",
    "dtype": "The numbers that a network computes with.",
    "emissionprob_prior": "The Dirichlet prior of the probabilities of symbols. 1: none, and what was never seen has "
    "probability 0.",
    "equal_weights": "Give all components the same weight.",
    "family": _FAMILIES,
    "fisher": "data: the metric is that of guesses for data. model: that of dreams.",
    "hidden": "The number of units of each hidden layer, with commas, the lowest first.",
    "hidden_layer_sizes": "The number of units of each hidden layer of a network, with commas.",
    "inertia": "The share of each online step that the model dreams itself, so that it forgets less.",
    "init_params": _CLUSTERS,
    "lag": "The number of rows of a series that wait, in online EM, for the rows that come after them.",
    "lambdas_prior": "The shape of the gamma prior of the rates.",
    "learning_rate": "How far a step of a network, or a tree, goes. none: 0.1 for trees; networks choose.",
    "lambdas_weight": "The inverse scale of the gamma prior of the rates.",
    "max_depth": "The largest depth of a tree.",
    "max_iter": "The largest number of iterations of batch EM.",
    "means_init": "The means of the components at the start: a .npy file with a row for each component.",
    "means_prior": "The mean of the normal prior of the means.",
    "means_weight": "The precision of the normal prior of the means. 0: no prior.",
    "method": "linear: a generalized linear model. network: a neural network. trees: boosted trees, which need all "
    "rows at once.",
    "min_samples_leaf": "The fewest rows of a leaf of a tree.",
    "missing": "error: rows without an entry are refused. indicator: a missing entry counts as the mean, and a column "
    "of 0 and 1 tells where.",
    "min_covar": "A variance that is added to those of the start.",
    "n_categories": _CATEGORIES,
    "n_chains": "The number of chains that draw from the machine while it learns.",
    "n_components": "The number of components.",
    "n_features": "The number of different symbols. none: counted in the data; a stream that brings new symbols later "
    "needs a number.",
    "n_gibbs": "The number of Gibbs steps of the chains for each step of the machine.",
    "n_init": "The number of starts of batch EM; the best result is kept.",
    "n_iter_no_change": "Networks and trees end after so many epochs or rounds without a gain on the rows left out.",
    "n_jobs": "The number of threads for trees. none: 1 for small data.",
    "n_iter": "The largest number of iterations of batch EM.",
    "n_latents": "The number of hidden states.",
    "n_units": "The number of units that fire or not: their state is all that is remembered.",
    "n_trials": "The total of every row; rows with another total are refused. none: any total.",
    "offset": "Give the columns means of their own.",
    "params": "What is learned, by letters.",
    "persistent": "Let chains go on from step to step; otherwise they begin at the data.",
    "precisions_init": "The precisions (inverse covariances) at the start: a .npy file, in the shape that belongs to "
    "--covariance-type.",
    "random_state": "The seed of random numbers: the same seed gives the same model. none: another one in each run.",
    "rate": "The weight of a new batch in online EM, above 0 and at most 1. none: it decays from batch to batch, for "
    "data that does not change. A constant such as 0.05 follows changes.",
    "reg_covar": "A variance that is added to those of the data: it keeps the variances of Gaussian columns above 0.",
    "solver": "How a network is trained: by Adam, or by the natural gradient.",
    "smoothing": "Pseudocounts: how often every component has seen each value before the data, so that nothing has "
    "probability 0.",
    "startprob_prior": "The Dirichlet prior of the probabilities of the first state. 1: none.",
    "temperature": "1: a row is shared among the components. 0: a row belongs to one component, as in k-means.",
    "tied": "Use one covariance for all components (Gaussian families).",
    "tol": "Batch EM has converged when an iteration raises the average log-likelihood by less, in nats per row.",
    "transmat_prior": "The Dirichlet prior of each row of the transition matrix. 1: none.",
    "trials": "The total of the rows that `kullback sample` draws.",
    "validation_fraction": "The share of rows that networks and trees leave out, to end when these gain no more.",
    "window": "The number of rows of one step; those that fill none wait for more.",
    "weights_init": "The weights of the components at the start, with commas; their sum is 1.",
}

#: What it means in some.
_HMM_TOL = "Batch EM has converged when an iteration raises the log-likelihood of all rows together by less, in nats."
_PAIRS = ("Classifier", "Regressor")
_NETWORKS = ("HelmholtzMachine", "VariationalAutoencoder")
_MACHINES = ("BernoulliRBM", "GaussianRBM")
SPECIAL = {
    "binarize": {
        "HelmholtzMachine": "Numbers above a number are 1, all others 0. threshold: those above 0.5, of numbers in "
        "[0, 1]. sample: 1 with that probability. none: every entry must be 0 or 1 already.",
        "BernoulliRBM": "Numbers above it are 1, all others 0. none: entries from 0 to 1 are taken as they are.",
    },
    "draws": {
        "VariationalAutoencoder": "Guesses of what is hidden for each row of a step. 1 follows the evidence bound, "
        "more a tighter one."
    },
    "n_chains": {"SpikingNetwork": "The number of memories that follow the stream at once; one alone learns badly."},
    "n_init": {"SpikingNetwork": "The number of networks that learn side by side; the best one answers."},
    "learning_rate": {
        "SpikingNetwork": "How far a step of Adam goes.",
        "HelmholtzMachine": "How far the first steps go. none: 0.3 for natural, 0.02 for the others.",
        "VariationalAutoencoder": "The rate of Adam to begin with; it falls with the steps.",
    }
    | dict.fromkeys(_MACHINES, "How far a step goes; it falls to 0 over the second half of the epochs."),
    "n_iter": dict.fromkeys(_MACHINES, "The number of epochs."),
    "damping": {"BernoulliRBM": "What is added to the metric of the natural gradient. none: plain gradients."},
    "n_latents": {"VariationalAutoencoder": "The number of hidden numbers of a row."},
    "method": {
        "HelmholtzMachine": "natural: both networks follow the natural gradient. reweighted, wake-sleep: they follow "
        "the gradient, with Adam."
    },
    "family": {
        "SpikingNetwork": "The family of all columns, or of each column, with commas: bernoulli, categorical, gaussian "
        "or poisson. auto: text is categorical, true and false are bernoulli, numbers are gaussian.",
        "Regressor": "The family of the target, or one for each, with commas: gaussian, poisson, gamma, exponential, "
        "beta, bernoulli, von_mises and so on.",
    },
    "max_iter": dict.fromkeys(
        _PAIRS, "The largest number of iterations, epochs or rounds. none: 100 for linear models."
    )
    | dict.fromkeys(_NETWORKS, "The largest number of epochs."),
    "rate": dict.fromkeys(
        _PAIRS,
        "The weight of a new batch of a linear model online, above 0 and at most 1. none: all rows count alike. A "
        "constant such as 0.05 follows changes.",
    ),
    "n_components": {
        "FactorAnalysis": _FACTORS,
        "ProbabilisticPCA": _FACTORS,
        **dict.fromkeys(_MACHINES, "The number of hidden units."),
        "Regressor": "The number of components of a mixture for each row (networks).",
    }
    | dict.fromkeys(_LETTERS, "The number of hidden states."),
    "covariance_type": {"GaussianHMM": _COVARIANCES.format("states", "state")},
    "tol": dict.fromkeys(_LETTERS, _HMM_TOL)
    | dict.fromkeys(_PAIRS, "A linear model has converged when an iteration gains less, in nats per row.")
    | dict.fromkeys(_NETWORKS, "An epoch that gains less, in nats per row of those left out, has gained nothing."),
    "params": {kind: f"What is learned, by letters: {letters}." for kind, letters in _LETTERS.items()},
    "init_params": {kind: f"What the start sets, by letters: {letters}." for kind, letters in _LETTERS.items()},
}


def option_text(kind: str, name: str) -> str:
    """Return what the help says of an option of a kind."""
    return SPECIAL.get(name, {}).get(kind, OPTIONS[name])
