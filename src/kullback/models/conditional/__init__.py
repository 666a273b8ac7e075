"""Models of p(v | inputs): the free coordinates of a distribution, as a function of what is known from outside."""

from kullback.models.conditional._combine_linear import combine_linear
from kullback.models.conditional._conditional import Conditional, ConditionalModel, row_modes
from kullback.models.conditional._ensemble import Ensemble, ensemble, ensemble_kind
from kullback.models.conditional._even_mixture import even_mixture
from kullback.models.conditional._linear import LinearConditional
from kullback.models.conditional._network import ACTIVATIONS, FreeOutput, Network
from kullback.models.conditional._ridge import Ridge
from kullback.models.conditional._scores import Scores
from kullback.models.conditional._trees import Tree, Trees

__all__ = [
    "ACTIVATIONS",
    "Conditional",
    "ConditionalModel",
    "Ensemble",
    "FreeOutput",
    "LinearConditional",
    "Network",
    "Ridge",
    "Scores",
    "Tree",
    "Trees",
    "combine_linear",
    "ensemble",
    "ensemble_kind",
    "even_mixture",
    "row_modes",
]
