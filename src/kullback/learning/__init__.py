"""Moves on the relative entropy. One operation, the model nearest to several others:

| algorithm | the models it is nearest to | weights |
|---|---|---|
| `em` | one per data point | 1/N each |
| `online_em` | the current model (the inertia), and one per point of the batch | 1−γ, and γ/N each |
| `combine` | the fitted models | α_m |

Two forms of online EM go with it: `sampled_inertia_step` draws the inertia, `natural_gradient_em_step` goes along the
tangent.
"""

from kullback.learning._combine import combine, shares
from kullback.learning._em import em, em_step, expected, merged, nearest
from kullback.learning._natural_gradient_em import natural_gradient_em_step
from kullback.learning._online_em import decaying_rate, online_em, online_em_step
from kullback.learning._report import Report
from kullback.learning._sampled_inertia import sampled_inertia_step
from kullback.learning._sized import sized_jit

__all__ = [
    "Report",
    "combine",
    "decaying_rate",
    "em",
    "em_step",
    "expected",
    "merged",
    "natural_gradient_em_step",
    "nearest",
    "online_em",
    "online_em_step",
    "sampled_inertia_step",
    "shares",
    "sized_jit",
]
