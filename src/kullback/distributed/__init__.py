"""The same estimators over a Dask cluster.

| | what travels | what comes out |
|---|---|---|
| `fit` of an estimator, given a Dask array or frame | statistics, in each iteration | what one machine would find |
| `fit_and_combine` | models, at each synchronization | near it, after one pass |

`local_cluster` and `connect` start or find the workers. It needs `pip install 'kullback[distributed]'`.
"""

try:
    import dask  # noqa: F401
except ImportError as error:
    raise ImportError("kullback.distributed needs Dask: pip install 'kullback[distributed]'.") from error

from kullback.distributed._cluster import connect, local_cluster
from kullback.distributed._fit_and_combine import fit_and_combine
from kullback.distributed._pairs import DaskPairs
from kullback.distributed._rows import DaskRows
from kullback.distributed._sequences import DaskSequences
from kullback.estimators import Provider

#: What `fit` of an estimator finds for Dask collections: an entry point of the group `kullback.data`.
PROVIDER = Provider(DaskRows, DaskSequences, DaskPairs)

__all__ = ["PROVIDER", "DaskPairs", "DaskRows", "DaskSequences", "connect", "fit_and_combine", "local_cluster"]
