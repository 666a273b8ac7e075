"""Options of a fit that do not go together."""

from typing import Any, NamedTuple

from kullback.cli._fit_method import Method
from kullback.cli._input import Input
from kullback.cli._pairs import has_targets
from kullback.cli._registry import command_name
from kullback.estimators import REGISTRY


class Wish(NamedTuple):
    """What was asked for: `on_cluster`, from a `saved` model, with a series that `continues`."""

    method: Method
    passes: int
    shuffle: int
    kept: bool
    resume: bool
    on_cluster: bool
    from_model: bool
    continues: bool
    asked: Method = Method.auto


def check_wish(estimator: Any, rows: Input, wish: Wish) -> None:
    """Raise if what was asked for does not go together, or the estimator has no use for it."""
    kind = type(estimator).__name__
    series = REGISTRY[kind].capabilities.data == "sequences"
    for problem in (
        *_problems_of_targets(estimator, rows, wish),
        *_problems_of_method(estimator, wish),
        *_problems_of_series(kind, rows, wish, series),
        *_problems_of_weights(kind, rows, wish, series),
        *_problems_of_cluster(rows, wish),
    ):
        if problem:
            raise ValueError(problem)


def learns_online(estimator: Any) -> bool:
    """Whether a model of targets can be learned batch by batch: trees need all rows at once."""
    return estimator.method != "trees"


def _problems_of_targets(estimator: Any, rows: Input, wish: Wish) -> list[Any]:
    name = command_name(type(estimator).__name__)
    if not has_targets(estimator):
        capabilities = REGISTRY[type(estimator).__name__].capabilities
        epochs = capabilities.has_epochs
        return [
            wish.asked in (Method.em, Method.batch)
            and capabilities.streams_only
            and f"--method {wish.asked} is not for {name}: it learns online, row after row.",
            wish.on_cluster
            and capabilities.streams_only
            and f"--scheduler is not for {name}: it learns from one stream, row after row.",
            rows.roles.targets and f"--target is for regressor and classifier: {name} learns from all columns alike.",
            wish.method is Method.batch
            and not epochs
            and f"--method batch is for regressor, classifier and networks: of {name} it is em.",
            wish.asked is Method.em
            and epochs
            and f"--method em is for models that learn by EM: of {name} it is batch.",
            wish.on_cluster
            and epochs
            and f"--scheduler is not for {name}: fit one where each part of the data lies, and use `kullback combine`.",
        ]
    model = f"--model {estimator.method}"
    return [
        not rows.roles.targets and f"{name} needs --target NAME: the column to predict from the others.",
        len(set(rows.roles.targets)) < len(rows.roles.targets) and "--target names a column twice.",
        wish.asked is Method.em and f"--method em is for models with hidden variables: of a {name} it is batch.",
        not learns_online(estimator)
        and (wish.method is Method.online or rows.piped or wish.from_model or wish.passes > 1 or wish.shuffle)
        and f"{model} learns from all rows of a file at once: use --model linear for streams, --method online, "
        "--passes, --shuffle and --from.",
        wish.from_model
        and wish.method in (Method.em, Method.batch)
        and f"--from with {name} is for --method online: a fit to all rows ends at the same model wherever it begins.",
        estimator.method != "linear" and wish.on_cluster and f"--scheduler is for --model linear: fit {model} here.",
        wish.on_cluster
        and wish.method is Method.online
        and f"--scheduler with {name} is for --method batch: online, fit on one machine, or use `kullback combine`.",
    ]


def _problems_of_method(estimator: Any, wish: Wish) -> list[Any]:
    em = wish.method is Method.em
    given = "passes" if wish.passes > 1 else "shuffle"
    n_init = estimator.get_params().get("n_init", 1)
    return [
        em
        and (wish.passes > 1 or wish.shuffle)
        and f"--{given} is for --method online: batch EM reads everything first, and ends by itself.",
        em
        and wish.kept
        and n_init > 1
        and not wish.from_model
        and f"--n-init is {n_init}, and a checkpoint of batch EM is of one start: use --n-init 1, or --method online.",
        wish.resume and not wish.kept and "--resume needs --checkpoint FILE: the file to go on from.",
    ]


def _problems_of_series(kind: str, rows: Input, wish: Wish, series: bool) -> list[Any]:
    roles, capabilities = rows.roles, REGISTRY[kind].capabilities
    return [
        wish.shuffle and series and f"--shuffle is not for {kind}: the rows of a series follow each other.",
        rows.piped and wish.passes > 1 and f"--passes is {wish.passes}: a stream can be read only once.",
        roles.sequence is not None
        and not series
        and f"--sequence-column is not for {kind}: its rows do not follow each other.",
        roles.inputs and not capabilities.takes_inputs and f"--input-columns is not for {kind}: it has no inputs.",
        wish.continues and not series and f"--continues is not for {kind}: its rows do not follow each other.",
        wish.continues
        and (roles.sequence is not None or wish.passes > 1 or wish.method is Method.em or wish.on_cluster)
        and "--continues is for one series that is read once by --method online: leave out --sequence-column, "
        "--passes, --method em and --scheduler.",
    ]


def _problems_of_weights(kind: str, rows: Input, wish: Wish, series: bool) -> list[Any]:
    roles, online_only = rows.roles, REGISTRY[kind].capabilities.streams_only
    if roles.weight is None:
        return []
    return [
        online_only and f"--weight-column is not for {kind}: each row of a stream counts once.",
        wish.on_cluster and "--weight-column does not go with --scheduler: fit here.",
        series
        and roles.sequence is None
        and f"--weight-column with {kind} needs --sequence-column: a weight is that of a whole sequence.",
        series
        and wish.method is Method.online
        and f"--weight-column with {kind} is for --method em: online, a sequence that goes on has weight 1.",
    ]


def _problems_of_cluster(rows: Input, wish: Wish) -> list[Any]:
    if not wish.on_cluster:
        return []
    online = wish.method is Method.online
    given = "a stream" if rows.piped else "--shuffle"
    columns = "--input-columns" if rows.roles.inputs else "--sequence-column and --method online"
    return [
        (rows.piped or wish.shuffle)
        and f"--scheduler does not go with {given}: workers read files, each its own batches, in order.",
        wish.kept
        and online
        and "--checkpoint with --scheduler is for --method em: online each worker is at another place.",
        wish.from_model and online and "--from with --scheduler is for --method em: go on with one machine.",
        (rows.roles.inputs or (rows.roles and online))
        and f"--scheduler does not go with {columns}: fit here, or from Python with kullback.distributed.",
    ]
