"""How far a fitted model is from the truth, and how sure that is."""

from kullback.assess._known_truth import KnownTruth
from kullback.assess._volume import volume
from kullback.assess.exact._charts import zeta
from kullback.assess.exact._closed import (
    deep_linear_coefficient,
    mixture_coefficient,
    naive_bayes_coefficient,
    reduced_rank_coefficient,
    tanh_coefficient,
)
from kullback.assess.exact._coefficient import ChartCertificate, Coefficient
from kullback.assess.exact._face_check import FaceCheck
from kullback.assess.exact._learning_coefficient import learning_coefficient
from kullback.assess.exact._newton import NewtonCertificate

__all__ = [
    "ChartCertificate",
    "Coefficient",
    "FaceCheck",
    "KnownTruth",
    "NewtonCertificate",
    "deep_linear_coefficient",
    "learning_coefficient",
    "mixture_coefficient",
    "naive_bayes_coefficient",
    "reduced_rank_coefficient",
    "tanh_coefficient",
    "volume",
    "zeta",
]
