"""The loop of all learning: data in, a message, a move; rules, checks and callbacks between the steps."""

import functools
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple

import jax
import numpy as np

from kullback.core import Batch
from kullback.learning._curve import extend_curve
from kullback.learning._data import Batches, Data
from kullback.learning._iterate import MOST, Pace, Watch, iterate
from kullback.learning._learner import Clock, Key, Learner, MemoryT, MessageT, ModelT, StateT, StepInfo
from kullback.learning._rules import DATA_ENDED, Bounds, Entry, Rule, check_at_least_one
from kullback.learning._step import FAILURES, move, run
from kullback.runtime import as_numpy, quick_jit

#: What memories begin with is drawn at a step that no fit comes to.
_BEFORE = 2**31 - 1

#: Of a rule that has none of its own.
_NO_BOUNDS = Bounds.of(None, -np.inf, None)

Validate = Callable[[ModelT], float]
Guard = Callable[[ModelT, StepInfo], str | None]


class Best(NamedTuple, Generic[ModelT]):
    """The model that was best, and at which step."""

    model: ModelT
    step: int


class Place(NamedTuple, Generic[ModelT, StateT, MemoryT]):
    """How far a fit has come: all that it needs to go on, and so what a checkpoint holds.

    `memories` are those of the sites, `position` is the data's own, `rule` the state of the rule. `curve` has a row
    (step, points, value, mass) for each step, or for several once they are many. `failures` counts moves in a row that
    were left out.
    """

    model: ModelT
    state: StateT
    memories: tuple[MemoryT, ...]
    best: Best[ModelT] | None = None
    position: Any = None
    step: int = 0
    points: float = 0.0
    rule: Any = None
    curve: np.ndarray = np.zeros((0, 4))
    failures: int = 0

    @property
    def found(self) -> ModelT:
        """The best model where a rule has chosen one, and the last otherwise."""
        return self.model if self.best is None else self.best.model


class _Taken(NamedTuple):
    """Where a chunk has led, what its steps were worth, and whether an epoch ends with it.

    `before` is what was there before its last step, where the steps were towards all of the data.
    """

    place: Place[Any, Any, Any]
    infos: list[StepInfo]
    epoch_ends: bool
    before: Place[Any, Any, Any] | None = None

    def without_last(self) -> "_Taken | None":
        """Return the chunk without its last step, or None if that leaves none."""
        if self.before is None or len(self.infos) == 1:
            return None
        return _Taken(self.before, self.infos[:-1], self.epoch_ends)


def begin(
    learner: Learner[ModelT, StateT, MemoryT, MessageT], model: ModelT, data: Data | Batches, rule: Rule, seed: int = 0
) -> Place[ModelT, StateT, MemoryT]:
    """Return the place at which a fit begins: nothing was learned yet."""
    key = _key(learner, seed)
    keys = [_fold(key, _BEFORE, site) for site in range(data.sites)]
    memories = tuple(learner.memory(model, data.start, key) for key in keys)
    return Place(model, learner.init(model, data.start), memories, rule=rule.init())


def _key(learner: Learner[Any, Any, Any, Any], seed: int) -> Key:
    """Return the key of a fit; None for a learner that draws nothing."""
    return jax.random.key(seed) if learner.draws_at_random else None


def _fold(key: Key, *numbers: int) -> Key:
    """Return a key that depends on some numbers too."""
    return None if key is None else _folded(key, np.array(numbers, np.int32))


_folded: Callable[[Any, Any], Any] = quick_jit(lambda key, numbers: functools.reduce(jax.random.fold_in, numbers, key))


def fit(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    place: Place[ModelT, StateT, MemoryT],
    data: Data | Batches,
    rule: Rule,
    *,
    validate: Validate[ModelT] | None = None,
    guard: Guard[ModelT] | None = None,
    watch: Watch | None = None,
    record: Callable[[list[StepInfo]], None] | None = None,
    callback: Callable[[Place[ModelT, StateT, MemoryT]], str | None] | None = None,
    chunk: int = 64,
    seed: int = 0,
) -> tuple[Place[ModelT, StateT, MemoryT], str]:
    """Learn from a place on until the rule, the data, a guard or a callback says so; return where it ended, and why.

    Steps go in chunks of at most `chunk` under one compiled function; their number changes no bit. Of a stream chunks
    end with an epoch. Of data that is one batch (`Data.resident`) they end where the rule may end the fit, or where
    `watch(model)`, which is traced, has a doubt about the model that a step has made.

    `record(infos)` is told what each step of a chunk was worth. `guard(model, info)` may refuse what the last step of a
    chunk has made (of a stream, the chunk), with a reason: the fit ends with what was there before; without a `watch`
    it sees every step of resident data. `validate(model)` is asked when an epoch ends. `callback(place)` is told after
    each chunk, and may end the fit with a reason. Moves to what is not finite are left out; after five in a row the fit
    goes back to its best model and ends.
    """
    check_at_least_one("chunk", chunk)
    looked_at = validate is not None or (guard is not None and watch is None)
    take: Callable[..., _Taken | None] = _TakeAll(rule, 1 if looked_at else chunk, watch) if data.whole else _take_chunk
    most, key = 1 if rule.every_step else chunk, _key(learner, seed)
    while True:
        taken = take(learner, place, data, key, most)
        if taken is None:
            return place, DATA_ENDED
        if record is not None:
            record(taken.infos)
        refused = None if guard is None else guard(taken.place.model, taken.infos[-1])
        if refused is not None:
            shorter = taken.without_last()
            return place if shorter is None else _judge(learner, place, shorter, rule, None)[0], refused
        after, reason = _judge(learner, place, taken, rule, validate)
        if after.failures >= FAILURES:
            failed = taken.infos[after.step - place.step - 1]
            return after._replace(model=after.found), _not_finite(after, failed, learner.unit)
        place = after
        if reason is None and callback is not None:
            reason = callback(place)
        if reason is not None:
            return place, reason


def _take_chunk(
    learner: Learner[Any, Any, Any, Any], place: Place[Any, Any, Any], data: Batches, key: Key, most: int
) -> _Taken | None:
    """Take the next steps of a stream."""
    current, limit = learner.at(place.step, place.points)
    chunk = data.steps(place.position, most if limit is None else min(most, limit))
    if chunk is None:
        return None
    clock = Clock(np.int32(place.step), np.asarray(place.points), key)
    where, count = (place.model, place.state, place.memories[0]), len(chunk.active)
    found = run(current, *where, *_fill_up(chunk.batches, chunk.active), clock, place.failures)
    model, state, memory, points, infos = found
    step = place.step + int(chunk.active.sum())
    after = place._replace(model=model, state=state, memories=(memory,), position=chunk.position)
    return _Taken(after._replace(step=step, points=points), infos[:count], chunk.epoch_ends)


def _fill_up(batches: Batch, active: np.ndarray) -> tuple[Batch, np.ndarray]:
    """Return the batches of a power of two of steps, the last ones not active: few lengths, few compiled functions."""
    more = (1 << (len(active) - 1).bit_length()) - len(active)
    if not more:
        return batches, active

    def repeat_last(leaf: Any) -> Any:
        return np.concatenate([leaf, np.repeat(leaf[-1:], more, axis=0)])

    return jax.tree.map(repeat_last, batches), np.append(active, np.zeros(more, bool))


class _TakeAll:
    """Takes steps towards all of the data: several where it is one batch, and one where it has to be gathered."""

    def __init__(self, rule: Rule, most: int, watch: Watch | None):
        self._rule, self._pace, self._watch = rule, Pace(most), watch

    def __call__(
        self, learner: Learner[Any, Any, Any, Any], place: Place[Any, Any, Any], data: Data, key: Key, most: int
    ) -> _Taken:
        """Take the next steps."""
        resident = data.resident(place.model)
        if resident is None:
            return _take_one(learner, place, data, key)
        current, limit = learner.at(place.step, place.points)
        bounds = self._rule.bounds(place.rule)
        steps = 1 if bounds is None else min(self._pace.steps(resident), int(bounds.most), limit or MOST)
        bounds = (bounds or _NO_BOUNDS)._replace(most=np.int32(steps))
        clock = Clock(np.int32(place.step), np.asarray(place.points), key)
        began = time.perf_counter()
        where = current, place.state, place.memories[0], clock
        found = iterate(place.model, resident.batch, *where, np.float64(resident.radius), bounds, self._watch)
        after, before, infos, count = as_numpy(found)
        self._pace.learn(steps, time.perf_counter() - began)
        seen = [StepInfo(*row) for row in zip(*(leaf[:count].tolist() for leaf in infos), strict=True)]
        masses = [info.mass for info in seen]
        last, here = self._at(place, after, masses), self._at(place, before, masses[:-1])
        return _Taken(last, seen, True, here)

    @staticmethod
    def _at(place: Place[Any, Any, Any], where: tuple[Any, Any, Any], masses: list[float]) -> Place[Any, Any, Any]:
        model, state, memory = where
        moved = place._replace(model=model, state=state, memories=(memory,))
        return moved._replace(step=place.step + len(masses), points=sum(masses, start=place.points))


def _take_one(learner: Learner[Any, Any, Any, Any], place: Place[Any, Any, Any], data: Data, key: Key) -> _Taken:
    """Take one step towards all of the data, wherever it lies."""
    current, _ = learner.at(place.step, place.points)
    clock = Clock(np.int32(place.step), np.asarray(place.points), _fold(key, place.step))
    message, memories = data.gather(current, place.model, place.state, place.memories, clock)
    model, state, info = as_numpy(move(place.model, message, current, place.state, clock))
    seen = StepInfo(float(info.value), float(info.mass), bool(info.finite))
    after = place._replace(model=model, state=state, memories=memories if seen.finite else place.memories)
    return _Taken(after._replace(step=place.step + 1, points=place.points + seen.mass), [seen], True)


def _judge(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    before: Place[ModelT, StateT, MemoryT],
    taken: _Taken,
    rule: Rule,
    validate: Validate[ModelT] | None,
) -> tuple[Place[ModelT, StateT, MemoryT], str | None]:
    """Let the rule see the steps one by one, and keep their curve; return the reason to end, if there is one."""
    after, infos, epoch_ends, _ = taken
    curve, state, points, failures = after.curve, before.rule, before.points, before.failures
    reason, better = None, False
    shown = learner.result(after.model, after.state) if epoch_ends else after.model
    validation = validate(shown) if epoch_ends and validate is not None else None
    for number, info in enumerate(infos):
        points, failures = points + info.mass, 0 if info.finite else failures + 1
        ends = epoch_ends and number == len(infos) - 1
        value, mass = (info.value, info.mass) if info.finite and info.mass > 0 else (0.0, 0.0)
        entry = Entry(before.step + number + 1, points, value, mass, ends, validation if ends else None)
        state, reason, better = rule.update(state, entry)
        curve = extend_curve(curve, entry.step, points, value, mass)
        if failures >= FAILURES:
            after = after._replace(step=entry.step)
            break
    if better:
        after = after._replace(best=Best(shown, after.step))
    return after._replace(rule=state, curve=curve, failures=failures), reason


def _not_finite(place: Place[Any, Any, Any], info: StepInfo, unit: str) -> str:
    kept = "last finite model" if place.best is None else f"best model, of step {place.best.step:,},"
    return (
        f"{FAILURES} moves in a row led to numbers that are not finite, the last at step {place.step:,}, on a batch "
        f"of {info.value:.6g} {unit}: the {kept} is kept; try a smaller learning rate, or scale the data."
    )
