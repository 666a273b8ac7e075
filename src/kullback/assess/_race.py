"""A race on a stream: candidates learn side by side, and those that are surely behind are dropped."""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.assess._betting import BettingSequence
from kullback.assess._estimators import StreamDensity, check_density, row_count, row_scores
from kullback.assess._text_table import text_table


class Dropped(NamedTuple):
    """When a candidate was dropped, and why: behind whom, or what failed."""

    after: int
    behind: str | None
    reason: str


class Race:
    """Candidates that learn from a stream side by side. `update` takes a batch; `race` takes a whole stream.

    Every batch is scored before it is learned from, so each row is new to all. The differences of two candidates'
    log-likelihoods, row by row and clipped to ± `clip` nats, have a betting confidence sequence at level α/K² of K
    candidates; one whose sequence lies below 0 against another is dropped, at whatever row that is seen. The
    probability that any is dropped by one that it was expected to be level with or ahead of, at all rows, is at most α.

    What is bounded is the clipped difference: `clipped` says how many rows were. A candidate that learns slowly and
    would be ahead later can be dropped; `warm_up` batches are learned from and not compared.

    Parameters
    ----------
    candidates : dict of estimators by name, or a list of them
        With `partial_fit` and `score_samples`. They are copied, unfitted.
    alpha : float
        The probability that any candidate is dropped by mistake.
    clip : float
        Nats at which differences are clipped.
    warm_up : int
        Batches, from 1 on, that are not compared.

    Attributes
    ----------
    running : dict
        The candidates that are left, fitted, the leading one first.
    leader : str
        The one with the highest mean score.
    n_rows : int
        Rows that were compared so far.
    rows : list of dict
        A line for each candidate: `candidate`, `score` (the mean prequential log-likelihood of the rows that it was
        compared on, in nats per row), `behind`, `low`, `high` (the leader's clipped advantage and its confidence
        sequence, while it ran), `clipped` (the share of these rows), `dropped` (after how many rows, None if not) and
        `reason`.

    """

    def __init__(self, candidates: Any, *, alpha: float = 0.05, clip: float = 3.0, warm_up: int = 1):
        from sklearn.base import clone

        named = _name_candidates(candidates)
        if not isinstance(alpha, float) or not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha!r}: it must be between 0 and 1.")
        if isinstance(clip, bool) or not isinstance(clip, (int, float)) or not 0 < clip < math.inf:
            raise ValueError(f"clip is {clip!r}: it must be a number of nats above 0.")
        if isinstance(warm_up, bool) or not isinstance(warm_up, int) or warm_up < 1:
            raise ValueError(f"warm_up is {warm_up!r}: it must be a number of batches, 1 or more.")
        self._estimators = {name: clone(estimator) for name, estimator in named.items()}
        self.alpha, self.clip, self.warm_up = alpha, float(clip), warm_up
        self.n_rows = self._batches = 0
        self._sums = dict.fromkeys(named, 0.0)
        self._seen = dict.fromkeys(named, 0)
        self.dropped: dict[str, Dropped] = {}
        self._pairs = {
            pair: _Pair(BettingSequence(alpha / len(named) ** 2, support=(-self.clip, self.clip)), self.clip)
            for pair in itertools.combinations(named, 2)
        }

    @property
    def running(self) -> dict[str, Any]:
        """The candidates that are left, the leading one first."""
        left = [name for name in self._estimators if name not in self.dropped]
        return {name: self._estimators[name] for name in sorted(left, key=self._mean, reverse=True)}

    @property
    def leader(self) -> str:
        """The one with the highest mean score."""
        return next(iter(self.running))

    def update(self, X: Any, y: Any = None) -> list[str]:
        """Score a batch, drop those that are surely behind, learn from it; return the names of who was dropped."""
        before = set(self.dropped)
        rows = row_count(X, y, least=0)
        if rows == 0:
            return []
        if self._batches >= self.warm_up:
            self._compare(self._scores(X, y), rows)
        for name, estimator in self.running.items():
            try:
                estimator.partial_fit(X) if y is None else estimator.partial_fit(X, y)
            except Exception as error:  # one candidate may break down, and the others go on
                self._fail(name, error)
        self._batches += 1
        return [name for name in self.dropped if name not in before]

    def _scores(self, X: Any, y: Any) -> dict[str, NDArray[np.float64]]:
        found, errors = {}, {}
        for name, estimator in self.running.items():
            try:
                found[name] = row_scores(estimator, X, y)
            except TypeError:
                raise
            except Exception as error:
                errors[name] = error
        if not found:  # the batch is to blame, and the race goes on without it
            name, failure = next(iter(errors.items()))
            raise ValueError(f"No candidate can score the batch; {name}, because: {failure}") from failure
        for name, failure in errors.items():
            self._fail(name, failure)
        return found

    def _compare(self, scores: dict[str, NDArray[np.float64]], rows: int) -> None:
        self.n_rows += rows
        for name, values in scores.items():
            self._sums[name] += float(np.sum(values))
            self._seen[name] += rows
        for (one, other), pair in self._pairs.items():
            if one in scores and other in scores:
                pair.update(scores[one], scores[other])
        for (one, other), pair in self._pairs.items():
            low, high = pair.ends
            if low > 0 > high:  # each was ahead for long: which of them is better has changed
                continue
            behind, ahead = (other, one) if low > 0 else (one, other)
            if (low > 0 or high < 0) and behind in scores and behind not in self.dropped and len(self.running) > 1:
                self.dropped[behind] = Dropped(self.n_rows, ahead, f"behind {ahead}")

    def _fail(self, name: str, error: Exception) -> None:
        """Drop a candidate that cannot go on; raise where it cannot begin, or was the last one."""
        if self._batches == 0:
            raise ValueError(f"Candidate {name} cannot learn from the first batch: {error}") from error
        self.dropped[name] = Dropped(self.n_rows, None, f"failed: {error}")
        if not self.running:
            raise ValueError(f"No candidate is left: {name} failed last, because: {error}") from error

    def _mean(self, name: str) -> float:
        return self._sums[name] / self._seen[name] if self._seen[name] else -math.inf

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A line for each candidate, those that are left first."""
        order = [*self.running, *sorted(self.dropped, key=lambda name: -self.dropped[name].after)]
        return [self._row(name) for name in order]

    def _row(self, name: str) -> dict[str, Any]:
        fate = self.dropped.get(name)
        rival = self.leader if fate is None or fate.behind is None else fate.behind
        behind = low = high = clipped = None
        if rival != name and (self._pairs.get((rival, name)) or self._pairs[name, rival]).rows:
            pair = self._pairs.get((rival, name)) or self._pairs[name, rival]
            sign = 1 if (rival, name) in self._pairs else -1
            behind, clipped = sign * pair.total / pair.rows, pair.clipped / pair.rows
            low, high = sorted(sign * end for end in pair.ends)
        return {
            "candidate": name,
            "score": self._mean(name) if self._seen[name] else None,
            "behind": behind,
            "low": low,
            "high": high,
            "clipped": clipped,
            "dropped": None if fate is None else fate.after,
            "reason": "" if fate is None else fate.reason,
        }

    def __repr__(self) -> str:
        rows = self.rows
        left = len(self.running)
        columns = ["candidate", "score", "behind", "low", "high", "clipped", "dropped", "reason"]
        table = text_table(rows, columns, [row["dropped"] is None for row in rows])
        return (
            f"Race of {len(rows)} candidates over {self.n_rows} rows: {left} left (*), {self.leader} ahead.\n{table}\n"
            f"Differences behind the leader, or behind the one that has dropped it, in nats per row, clipped to "
            f"±{self.clip:g}; at level {self.alpha:g} for all of them at every look."
        )


class _Pair:
    """The clipped differences of two candidates."""

    def __init__(self, sequence: BettingSequence, clip: float):
        self.sequence, self._clip = sequence, clip
        self.rows, self.clipped, self.total = 0, 0, 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval of their mean."""
        interval = self.sequence.interval
        return float(interval.lower), float(interval.upper)

    def update(self, one: NDArray[np.float64], other: NDArray[np.float64]) -> None:
        """Take some more rows; one that is impossible for both tells nothing."""
        with np.errstate(invalid="ignore"):
            gaps = np.where(one == other, 0.0, one - other)
        inside = np.clip(gaps, -self._clip, self._clip)
        self.rows += len(gaps)
        self.clipped += int(np.sum(inside != gaps))
        self.total += float(np.sum(inside))
        self.sequence.update(inside)


def race(
    candidates: Any,
    stream: Iterable[Any],
    *,
    alpha: float = 0.05,
    clip: float = 3.0,
    warm_up: int = 1,
    stop: bool = False,
    verbose: bool = False,
) -> Race:
    """Let candidates learn from a stream side by side, and drop those that are surely behind.

    Parameters
    ----------
    candidates, alpha, clip, warm_up
        See `Race`.
    stream : iterable
        Tables, or pairs (X, y). It is gone through once.
    stop : bool
        Whether to end when one candidate is left, and leave the rest of the stream.
    verbose : bool
        One line that says how far it has come.

    Returns
    -------
    Race
        `running`, `leader`, `dropped`, `rows`; in print a table. Its `update` goes on with the stream.

    Examples
    --------
    >>> import kullback
    >>> rng = np.random.default_rng(0)
    >>> stream = [rng.normal(rng.choice([-4.0, 4.0], (64, 1)), 1.0) for _ in range(8)]
    >>> found = race({k: kullback.GaussianMixture(k, random_state=0) for k in (1, 2)}, stream)
    >>> found.leader, list(found.dropped), found.n_rows
    (2, [1], 448)

    """
    from tqdm.auto import tqdm

    run = Race(candidates, alpha=alpha, clip=clip, warm_up=warm_up)
    if isinstance(stream, (str, bytes, Mapping)) or not isinstance(stream, Iterable):
        raise TypeError(f"stream is {type(stream).__name__}: it must be an iterable of tables, or of pairs (X, y).")
    with tqdm(stream, unit=" batches", disable=not verbose) as bar:
        for batch in bar:
            X, y = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)
            run.update(X, y)
            bar.set_postfix_str(f"{len(run.running)} left, {run.leader} ahead", refresh=False)
            if stop and len(run.running) == 1:
                break
    if run.n_rows == 0:
        raise ValueError(f"stream has no batch after the first {warm_up}: nothing was compared.")
    return run


def _name_candidates(candidates: Any) -> dict[Any, Any]:
    """Return candidates by name; those of a list have their places."""
    if isinstance(candidates, (list, tuple)):
        candidates = dict(enumerate(candidates))
    if not isinstance(candidates, Mapping) or len(candidates) < 2:
        raise ValueError("candidates must be a dict or a list of two estimators or more.")
    for estimator in candidates.values():
        check_density(estimator, StreamDensity)
    return dict(candidates)
