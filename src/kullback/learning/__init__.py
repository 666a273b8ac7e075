"""Moves on the relative entropy. One operation, the model nearest to several others:

| algorithm | the models it is nearest to | weights |
|---|---|---|
| `em` | one per data point | 1/N each |
| `online_em` | the current model (the inertia), and one per point of the batch | 1−γ, and γ/N each |
| `combine` | the fitted models | α_m |
"""

from kullback.learning._combine import combine
from kullback.learning._em import em, em_step
from kullback.learning._online_em import decaying_rate, online_em, online_em_step
from kullback.learning._report import Report

__all__ = ["Report", "combine", "decaying_rate", "em", "em_step", "online_em", "online_em_step"]
