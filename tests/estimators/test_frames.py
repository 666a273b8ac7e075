"""Frames as X: every type of column means what the same data means that was encoded by hand."""

import copy
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kullback
from tiers import slow

ROWS = 120
RNG = np.random.default_rng(0)
SIDE = RNG.random(ROWS) < 0.5
X = np.where(SIDE, 0.0, 5.0) + RNG.normal(size=ROWS)
CODES = np.where(SIDE, 0, RNG.integers(1, 3, ROWS))
WORDS = np.array(["run", "idle", "warm"])[CODES]
BITS = RNG.random(ROWS) < np.where(SIDE, 0.1, 0.9)
COUNTS = RNG.poisson(np.where(SIDE, 2, 9))
#: Entries that are missing.
GAPS = RNG.random((ROWS, 4)) < 0.1
ORDER = ["warm", "never", "idle", "run"]
FAMILIES = {"counts": "poisson"}
NAMED = ["gaussian", "categorical", "bernoulli", "poisson"]


def gaps(values, place):
    return [None if gap else value for value, gap in zip(values.tolist(), GAPS[:, place], strict=True)]


def by_hand(order):
    """Return the numbers that the frames mean, with categories in an order."""
    codes = [order.index(word) for word in WORDS]
    return np.where(GAPS, np.nan, np.stack([X, codes, BITS, COUNTS], axis=1))


COLUMNS = {"x": gaps(X, 0), "word": gaps(WORDS, 1), "bit": gaps(BITS, 2), "counts": gaps(COUNTS, 3)}
APPEARANCE = list(dict.fromkeys(word for word in COLUMNS["word"] if word is not None))


def pandas_frame(**types):
    return pd.DataFrame({name: pd.Series(COLUMNS[name], dtype=types.get(name)) for name in COLUMNS})


def polars_frame(**types):
    return pl.DataFrame({name: pl.Series(COLUMNS[name], dtype=types.get(name)) for name in COLUMNS})


ARROW = {"x": "double[pyarrow]", "word": "string[pyarrow]", "bit": "bool[pyarrow]", "counts": "int64[pyarrow]"}
#: Frames of one and the same data, and the order of its categories.
FRAMES = {
    "pandas": (pandas_frame(bit=object), APPEARANCE),
    "pandas objects": (pandas_frame(**dict.fromkeys(COLUMNS, object)), APPEARANCE),
    "pandas nullable": (pandas_frame(x="Float64", word="string", bit="boolean", counts="Int64"), APPEARANCE),
    "pandas category": (pandas_frame(word=pd.CategoricalDtype(ORDER), bit="boolean"), ORDER),
    "pandas pyarrow": (pandas_frame(**ARROW), APPEARANCE),
    "polars": (polars_frame(), APPEARANCE),
    "polars Categorical": (polars_frame(word=pl.Categorical), APPEARANCE),
    "polars Enum": (polars_frame(word=pl.Enum(ORDER)), ORDER),
    "pyarrow": (pa.table(COLUMNS), APPEARANCE),
}
LIMITS = {"random_state": 0, "tol": 1e9}


@pytest.fixture(scope="module")
def fitted():
    """Fit one mixture to the frame of pandas, for all questions."""
    return kullback.Mixture(2, family=FAMILIES, **LIMITS).fit(FRAMES["pandas"][0])


def test_columns_choose_their_families_and_categories(fitted):
    assert fitted.family_ == NAMED
    assert fitted.categories_ == {"word": APPEARANCE}
    assert fitted.n_categories_.tolist() == [0, 3, 0, 0]
    assert list(fitted.feature_names_in_) == list(COLUMNS)
    assert fitted.family == FAMILIES  # as it was given


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_is_scored_as_the_numbers_it_means(fitted, name):
    bare = kullback.Mixture.from_model(fitted.to_model())
    wanted = bare.score_samples(by_hand(APPEARANCE))
    np.testing.assert_allclose(fitted.score_samples(FRAMES[name][0]), wanted, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fitted.to_array(FRAMES[name][0]), by_hand(APPEARANCE))


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_is_learned_as_the_numbers_it_means(name):
    frame, order = FRAMES[name]
    found = kullback.Mixture(2, family=FAMILIES, **LIMITS).fit(frame)
    numbers = by_hand(order)
    alone = kullback.Mixture(2, family=NAMED, n_categories=len(order), **LIMITS).fit(numbers)
    assert found.categories_ == {"word": order}
    np.testing.assert_allclose(found.score_samples(frame), alone.score_samples(numbers), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.predict_proba(frame), alone.predict_proba(numbers), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.predict(frame), alone.predict(numbers))
    assert found.score(frame) == pytest.approx(alone.score(numbers), rel=1e-12)
    assert found.bic(frame) == pytest.approx(alone.bic(numbers), rel=1e-12)


@pytest.mark.slow
def test_streams_and_steps_take_frames():
    frame = FRAMES["polars"][0]
    pieces = [frame[:40], frame[40:80], frame[80:]]
    numbers = np.split(by_hand(APPEARANCE), 3)
    rule = {"family": NAMED, "n_categories": 3, **LIMITS}
    stepped, alone = kullback.Mixture(2, **rule), kullback.Mixture(2, **rule)
    for piece, table in zip(pieces, numbers, strict=True):
        stepped.partial_fit(piece)
        alone.partial_fit(table)
    np.testing.assert_allclose(stepped.score_samples(frame), alone.score_samples(np.concatenate(numbers)), atol=1e-12)
    streamed = kullback.Mixture(2, **rule).fit_stream(pieces)
    np.testing.assert_array_equal(streamed.score_samples(frame), stepped.score_samples(frame))
    assert streamed.categories_ == {"word": APPEARANCE}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pandas", "polars Enum", "pyarrow"])
def test_sequences_of_any_columns(name):
    frame, order = FRAMES[name]
    lengths, limit = [70, 50], {"n_iter": 2, "random_state": 0}
    found = kullback.HMM(1, family=FAMILIES, **limit).fit(frame, lengths)
    alone = kullback.HMM(1, family=NAMED, n_categories=len(order), **limit).fit(by_hand(order), lengths)
    assert found.family_ == NAMED
    assert found.score(frame, lengths) == pytest.approx(alone.score(by_hand(order), lengths), rel=1e-12)
    np.testing.assert_array_equal(found.predict(frame, lengths), alone.predict(by_hand(order), lengths))
    if name == "pandas":
        stream = kullback.HMM(1, family=FAMILIES, **limit).fit_stream([frame[:60], frame[60:]])
        assert stream.categories_ == {"word": APPEARANCE}


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(WORDS, name="w"), slow(pl.Series("w", WORDS.tolist())), slow(WORDS.tolist()), slow(WORDS),
        slow(pd.DataFrame({"w": WORDS})), slow(WORDS[:, None]),
    ],
)  # fmt: skip
def test_a_column_of_words_is_a_series_of_symbols(column):
    order = list(dict.fromkeys(WORDS.tolist()))
    numbers = np.array([order.index(word) for word in WORDS])[:, None]
    found = kullback.CategoricalHMM(1, random_state=0, n_iter=2).fit(column)
    alone = kullback.CategoricalHMM(1, random_state=0, n_iter=2).fit(numbers)
    assert list(found.categories_.values()) == [order]
    assert found.score(column) == pytest.approx(alone.score(numbers), rel=1e-12)
    np.testing.assert_array_equal(found.predict(column), alone.predict(numbers))
    with pytest.raises(ValueError, match="has the category 'off' in row 0, which the fit has not seen"):
        found.score(pd.DataFrame({"w": ["off"]}) if hasattr(found, "feature_names_in_") else [["off"]])


@pytest.mark.slow
def test_symbols_that_a_type_lists_have_room():
    frame = pd.DataFrame({"w": pd.Categorical(WORDS, categories=ORDER)})
    found = kullback.CategoricalHMM(1, random_state=0, n_iter=2, emissionprob_prior=2.0).fit(frame)
    assert found.n_features == 4
    assert np.isfinite(found.score(pd.DataFrame({"w": ["never", "run"]})))


def test_categories_that_a_fit_has_not_seen_are_refused(fitted):
    frame = FRAMES["pandas"][0]
    word = frame["word"].copy()
    word[[7, 9]] = ["off", "out"]
    with pytest.raises(ValueError, match="column 'word' of X has the category 'off' in row 7") as error:
        fitted.score(frame.assign(word=word))
    assert "make it missing (None), or fit to rows that have it" in str(error.value)
    known = word.where(word.isin(fitted.categories_["word"]), None)
    assert np.isfinite(fitted.score_samples(frame.assign(word=known))).all()
    assert fitted.categories_ == {"word": APPEARANCE}


@pytest.mark.slow
def test_later_words_need_room():
    frame = FRAMES["pandas"][0]
    narrow = kullback.Mixture(2, family=FAMILIES, **LIMITS).partial_fit(frame)
    with pytest.raises(
        ValueError, match="the category 'off' in row 0, which the fit has not seen, and there is room for 3"
    ):
        narrow.partial_fit(frame.assign(word="off"))
    assert narrow.categories_ == {"word": APPEARANCE}  # as it was
    wide = kullback.Mixture(2, family=FAMILIES, n_categories=4, **LIMITS).partial_fit(frame)
    before = wide.score(frame)
    wide.partial_fit(frame.assign(word="off"))
    assert wide.categories_ == {"word": [*APPEARANCE, "off"]}
    assert np.isfinite([before, wide.score(frame.assign(word="off"))]).all()
    with pytest.raises(ValueError, match="there is room for 4"):
        wide.partial_fit(frame.assign(word="out"))
    with pytest.raises(ValueError, match="the category 'out' in row 0"):  # a question learns no words
        wide.score(frame.assign(word="out"))


def test_columns_that_hold_something_else_than_in_the_fit_are_refused(fitted):
    frame = FRAMES["pandas"][0]
    for changed, sentence in (
        ({"word": 1.5}, "column 'word' of X holds numbers, where the fit has seen text such as"),
        ({"x": "much"}, "column 'x' of X holds text such as 'much', where the fit has seen numbers"),
    ):
        with pytest.raises(ValueError, match=sentence):
            fitted.score(frame.assign(**changed))
    with pytest.raises(ValueError, match="column 'word' of X holds numbers"):
        fitted.score(pd.DataFrame(np.ones((2, 4)), columns=list(COLUMNS)))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.score(frame[["word", "x", "bit", "counts"]])
    assert fitted.score_samples(frame.assign(word=None)).shape == (ROWS,)  # all of it is missing


REFUSED = {
    "text for a Gaussian": (kullback.GaussianMixture(1), "'word' of X holds text such as .*GaussianMixture is for "
                            r"numbers: use Mixture\(family='auto'\)"),
    "text for a chain": (kullback.GaussianHMM(1), r"GaussianHMM is for numbers: use HMM\(family='auto'\)"),
    "text for factors": (kullback.FactorAnalysis(1), "FactorAnalysis is for numbers"),
    "text for a system": (kullback.LinearDynamicalSystem(1), "LinearDynamicalSystem is for numbers"),
    "text for a family": (kullback.Mixture(1), "family 'gaussian' is for numbers: use 'categorical' or 'auto' there"),
    "truth as a category": (kullback.Mixture(1, family={"bit": "categorical"}), "'bit' of X holds true and false, "
                            "and family 'categorical' is for categories: use 'bernoulli' or 'auto' there"),
    "truth as a symbol": (kullback.CategoricalMixture(1), "'bit' of X holds true and false, and CategoricalMixture"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_columns_that_a_family_is_not_for(name):
    estimator, sentence = REFUSED[name]
    frame = FRAMES["pandas"][0][["word", "bit"]]
    with pytest.raises(ValueError, match=sentence) as error:
        estimator.fit(frame[["bit", "word"]] if name == "truth as a symbol" else frame)
    assert "\n" not in str(error.value)
    assert not hasattr(estimator, "categories_")


def test_names_times_and_too_many_words_are_no_categories():
    mixture = kullback.Mixture(1, family="auto")
    with pytest.raises(ValueError, match=r"holds 300 different texts in 300 rows: these are names or notes"):
        mixture.fit(pd.DataFrame({"id": [f"id {n}" for n in range(300)]}))
    with pytest.raises(ValueError, match=r"Column 'day' holds times such as '2026-01-01'"):
        mixture.fit(pd.DataFrame({"day": ["2026-01-01", "2026-01-02"] * 5}))
    with pytest.raises(ValueError, match="more than 10,000 different"):
        mixture.fit(pd.DataFrame({"id": [f"id {n}" for n in range(10_001)]}))


@pytest.mark.slow
def test_columns_without_names_and_with_strange_ones():
    table = [[float(x), str(word)] for x, word in zip(X, WORDS, strict=True)]
    for frame in (table, np.array(table, dtype=object), pd.DataFrame(table), pd.DataFrame(table, columns=[9, 4]),
                  pd.DataFrame(table, columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))):  # fmt: skip
        found = kullback.Mixture(2, family={1: "auto"}, **LIMITS).fit(frame)
        assert found.categories_ == {"1": list(dict.fromkeys(WORDS.tolist()))}
        assert np.isfinite(found.score_samples(frame)).all()


def test_infinite_numbers_are_refused_beside_words():
    frame = pd.DataFrame({"x": [1.0, np.inf, 2.0], "w": ["a", "b", "a"]})
    with pytest.raises(ValueError, match="infinity"):
        kullback.Mixture(1, family="auto").fit(frame)


def test_a_failed_fit_leaves_the_categories_as_they_were(fitted):
    again = copy.copy(fitted)
    before = dict(vars(again))
    with pytest.raises(ValueError, match="holds text"):
        again.set_params(family="gaussian").fit(pd.DataFrame({"other": ["a", "b"] * 5}))
    assert again.categories_ is before["categories_"]
    assert again.family_ == NAMED


@pytest.mark.slow
def test_combining_needs_the_same_categories():
    frame = FRAMES["pandas category"][0]
    one, two = (
        kullback.Mixture(2, family=FAMILIES, **LIMITS).fit(frame[part]) for part in (slice(60), slice(60, None))
    )
    both = kullback.combine([one, two])
    assert both.categories_ == {"word": ORDER}
    assert both.family_ == NAMED
    assert np.isfinite(both.score_samples(frame)).all()
    other = kullback.Mixture(2, family=FAMILIES, n_categories=4, **LIMITS).fit(FRAMES["pandas nullable"][0])
    with pytest.raises(ValueError, match="number the categories of column 'word' differently"):
        kullback.combine([one, other])


@pytest.mark.slow
def test_the_code_of_the_page_about_frames_runs():
    page = (Path(__file__).parents[2] / "docs" / "frames.md").read_text()
    found = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), found)
    assert found["mixture"].family_ == ["gaussian", "categorical", "bernoulli"]
    assert found["mixture"].categories_ == {"status": ["run", "idle"]}
