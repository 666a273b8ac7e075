"""Dask frames of any columns: blocks are encoded where they lie, by categories that the types of columns list."""

import numpy as np
import pytest

import kullback

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=90),
        "word": pd.Categorical(RNG.choice(["a", "b"], 90), categories=["b", "never", "a"]),
        "bit": pd.array(RNG.random(90) < 0.5, dtype="boolean"),
    }
)
FRAME.loc[::9, "bit"] = pd.NA


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "extras"), [(kullback.Mixture, {}), (kullback.HMM, {"lengths": [30, 30, 30]})])
def test_blocks_say_what_the_whole_says(kind, extras):
    limit = {"tol": 1e9} if kind is kullback.Mixture else {"n_iter": 2}
    whole = kind(1, family="auto", random_state=0, **limit).fit(FRAME, **extras)
    blocks = kind(1, family="auto", random_state=0, **limit).fit(dd.from_pandas(FRAME, npartitions=3), **extras)
    assert blocks.categories_ == whole.categories_ == {"word": ["b", "never", "a"]}
    assert blocks.family_ == whole.family_ == ["gaussian", "categorical", "bernoulli"]
    assert blocks.n_categories_.tolist() == [0, 3, 0]
    assert list(blocks.feature_names_in_) == ["x", "word", "bit"]
    assert blocks.score(FRAME) == pytest.approx(whole.score(FRAME), rel=1e-9)


def test_text_whose_categories_are_not_known_is_refused():
    mixture = kullback.Mixture(1, family="auto")
    text = dd.from_pandas(FRAME.assign(word=FRAME["word"].astype(str)), npartitions=3)
    for frame in (text, text.astype({"word": "category"})):
        with pytest.raises(ValueError, match=r"column 'word' of X holds text in blocks.*X.categorize\(\['word'\]\)"):
            mixture.fit(frame)
    with pytest.raises(ValueError, match="column 'word' of X holds text, and GaussianMixture is for numbers"):
        kullback.GaussianMixture(1).fit(dd.from_pandas(FRAME, npartitions=3))
