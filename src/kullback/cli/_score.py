"""kullback score."""

from typing import Annotated

import typer

from kullback.cli import _arguments as given

#: The share of anomalies, where none is given.
_ANOMALY = 0.01


def score(
    model: given.Model,
    data: given.Data,
    output: given.Output = None,
    keep: given.Keep = "all",
    row_numbers: given.RowNumbers = True,
    responsibilities: given.Responsibilities = False,
    anomaly: Annotated[
        float | None,
        typer.Option(
            help="A row is an anomaly if it is less likely than all but this share of the model's rows. Default: 0.01.",
            metavar="NUMBER",
        ),
    ] = None,
    contributions: Annotated[
        bool,
        typer.Option(
            "--contributions",
            help="Add a column for each column of the model: how much it contributes to a row being unlikely, in nats.",
        ),
    ] = False,
    novelty: Annotated[
        bool,
        typer.Option(
            "--novelty",
            help="Let the model learn on from each row after it was scored, and write how new the row was in nats, "
            "−log p (models that learn streams). The saved model stays as it is.",
        ),
    ] = False,
    batch_rows: given.BatchRows = 4096,
    format: given.Format = None,
    header: given.Header = True,
    skip_bad: given.SkipBad = False,
    max_bad: given.MaxBad = 1000,
    quiet: given.Quiet = False,
    as_json: given.Json = False,
) -> None:
    """Compute the log-likelihood and the component of each row, flag anomalies, and name the column behind each.

    Rows of a series are scored given the rows before them, and their component is the most probable state so far. The
    limit of anomalies comes from 10,000 rows (of networks 1,000) that the model itself draws, not from the data. The
    unlikely_column of an anomaly is the one that is most surprising given the others, compared with what is usual.
    Regressors and classifiers give the log-likelihood of the target given the other columns, and no more.
    """
    import numpy as np

    from kullback.cli._kept_columns import KeptColumns
    from kullback.cli._messages import count, print_message, print_warnings
    from kullback.cli._row_scores import NoveltyScorer, explain, name_responsibilities, row_scorer
    from kullback.cli._saved_model import SavedModel
    from kullback.cli._table import Table
    from kullback.estimators import Anomalies
    from kullback.sources import is_stream

    share = _ANOMALY if anomaly is None else anomaly
    if not 0 <= share < 1:
        raise ValueError(f"--anomaly is {share}: it must be 0 or more, and less than 1.")
    saved = SavedModel.load(model)
    if saved.has_targets:
        asked = {"--anomaly": anomaly is not None, "--contributions": contributions}
        for option in (name for name, was in asked.items() if was):
            raise ValueError(f"{option} is for models of rows, and this {saved.kind} is one of a target given inputs.")
    if novelty:
        saved.require(saved.capabilities.streams_only, "--novelty", "models that learn streams")
        for option in (
            name for name, was in (("--anomaly", anomaly is not None), ("--contributions", contributions)) if was
        ):
            raise ValueError(f"{option} does not go with --novelty: that compares rows with what was learned so far.")
    if responsibilities:
        saved.require(saved.capabilities.predicts, "--responsibilities", given.CLUSTERS)
    keeper = KeptColumns(saved, data, keep, header, row_numbers)
    ahead = {"ahead": 0} if is_stream(data) else {}
    options = {"format": format, "batch_rows": batch_rows, "skip_bad": skip_bad, "max_bad": max_bad, **ahead}
    source = saved.open(data, header, keep=keeper.keep, **options)
    rows, flagged, missing, total = 0, 0, 0, 0.0
    with print_warnings(quiet), Table(output, as_json) as table:
        scorer = NoveltyScorer(saved) if novelty else row_scorer(saved, responsibilities)
        anomalies = None if saved.has_targets or novelty else Anomalies(saved.estimator, share)
        for chunk in saved.chunks(source):
            X = chunk.X
            with keeper.naming(source, source.kept, chunk):
                found = scorer(chunk)
            answers = {"novelty": -found.log_likelihood} if novelty else {"log_likelihood": found.log_likelihood}
            answers |= {} if found.component is None else {"component": found.component}
            if anomalies is not None:
                unlikely = found.log_likelihood < anomalies.thresholds(X)
                answers |= {"anomaly": unlikely}
                answers |= explain(anomalies, chunk, found, unlikely, keeper.labels(source, chunk), contributions)
                flagged += int(unlikely.sum())
            answers |= name_responsibilities(found.responsibilities)
            table.write(keeper.beside(source, chunk, answers))
            rows, total = rows + len(X), total + np.nansum(found.log_likelihood)
            missing += int(np.isnan(found.log_likelihood).sum())
    if not quiet:
        left_out = f", {count(source.bad_rows, 'bad row')} left out" if source.bad_rows else ""
        average = f", {total / (rows - missing):.4f} nats per row" if rows > missing else ""
        found_too = "" if anomalies is None else f", {count(flagged, 'anomaly', 'anomalies')}"
        without = f", {count(missing, 'row')} without a target" if missing else ""
        print_message(f"{count(rows, 'row')}{average}{found_too}{without}{left_out}.")
