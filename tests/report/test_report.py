import re

import numpy as np
import pandas as pd
import pytest

import kullback
from kullback import models
from kullback.families import DiagonalGaussian, Gaussian
from kullback.report import write_report
from kullback.report._facts import facts as facts_of
from kullback.report._parts import table
from kullback.report._rows import least_likely
from kullback.report._subject import Subject
from report.reports import CHAIN, MAKE, Page, blobs, fitted, series

#: What each kind shows with data, besides marginals.
FIGURES = {
    "GaussianMixture": {"ellipses", "responsibilities"},
    "BernoulliMixture": {"responsibilities"},
    "PoissonMixture": {"ellipses", "responsibilities"},
    "CategoricalMixture": {"responsibilities"},
    "Mixture": {"responsibilities"},
    "CompoundDirichlet": set(),
    "ProbabilisticPCA": {"ellipses", "loadings", "explained"},
    "FactorAnalysis": {"ellipses", "loadings", "explained"},
    "GaussianHMM": {"timeline", "transitions", "ellipses"},
    "CategoricalHMM": {"timeline", "transitions"},
    "PoissonHMM": {"timeline", "transitions", "ellipses"},
    "MultinomialHMM": {"timeline", "transitions"},
    "HMM": {"timeline", "transitions"},
    "LinearDynamicalSystem": {"forecast", "eigenvalues"},
}


def read(path):
    text = path.read_text(encoding="utf-8")
    return Page(text), text


def check_page(page, text):
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"https?://|//\w+\.\w+/", text)
    assert "script" not in {tag for tag, _ in page.elements}
    used = re.findall(r'(?:url\(|href=")#([\w.-]+)', text)
    assert set(used) <= set(page.ids)
    for svg in page.all("svg"):
        assert svg["role"] == "img"
        assert svg["aria-label"]
    assert all(heading.strip() for heading in page.text["h2"])
    assert len(text) < 2_000_000
    # colors are the page's own, or dark mode could not change them
    assert not re.search(r'="[^"]*#[0-9a-fA-F]{6}', text)
    assert not re.search(r"\bnan\b|\binf\b", text)


@pytest.mark.parametrize("kind", MAKE)
def test_every_kind_has_a_page(kind, tmp_path):
    estimator, X = fitted(kind)
    page, text = read(write_report(estimator, tmp_path / "page.html", X))
    check_page(page, text)
    marginals = [name for name in page.figures if name.startswith("marginal-")]
    assert len(marginals) == (0 if kind == "LinearDynamicalSystem" else X.shape[1])
    assert set(page.figures) - set(marginals) - {"learning"} == FIGURES[kind]
    assert ("learning" in page.figures) == (len(getattr(estimator, "lower_bounds_", [])) > 1)
    assert "least-likely" in page.ids
    if not hasattr(estimator, "score_samples") or kind.endswith("HMM"):  # a series: the score is that of all rows
        facts = dict(zip(page.text["dt"], page.text["dd"], strict=True))
        told = float(facts["Log-likelihood of the data"].split()[0].replace("−", "-"))
        assert told == pytest.approx(estimator.score(X) / len(X), rel=1e-3)


@pytest.mark.parametrize("kind", ["CompoundDirichlet", "GaussianHMM", "LinearDynamicalSystem"])
def test_a_page_needs_no_data(kind, tmp_path):
    page, text = read(write_report(fitted(kind)[0], tmp_path / "page.html"))
    check_page(page, text)
    assert page.figures
    assert not {"least-likely", "timeline", "forecast", "responsibilities"} & set(page.ids)


def test_names_of_columns_and_title_are_escaped(tmp_path):
    names = ["<script>alert(1)</script>", "a\"b'&amp;", "$\\frac{1}{2", "多\x00\n"]
    X = pd.DataFrame(blobs(columns=4), columns=names)
    gaussians = Gaussian(np.array([[-4.0] * 4, [4.0] * 4]), np.tile(np.eye(4), (2, 1, 1)))
    hmm = kullback.GaussianHMM.from_model(models.HiddenMarkovModel(*map(np.array, CHAIN), gaussians))
    page, text = read(write_report(hmm, tmp_path / "page.html", X, title="<b>&</b>"))  # names are on axes too
    check_page(page, text)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert page.text["title"][0] == "<b>&</b>"
    assert names[0] in page.text["strong"]
    assert "$\\frac{1}{2" in page.text["strong"]


def test_head_tells_what_was_learned_from_how_much(tmp_path):
    X = pd.DataFrame(blobs(), columns=["a", "b"])
    estimator = kullback.GaussianMixture(2, random_state=0).fit(X)
    page, _ = read(write_report(estimator, tmp_path / "page.html", X.to_numpy()))  # the names are known from the fit
    assert {"a", "b"} <= set(page.text["strong"])
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    facts = dict(zip(page.text["dt"], page.text["dd"], strict=True))
    assert facts["Model"] == "GaussianMixture"
    assert facts["Components"] == "2"
    assert facts["Learned from"] == "80 rows"
    assert facts["Converged"].startswith("yes")
    assert facts["kullback"] == kullback.__version__
    told = float(facts["Log-likelihood of the data"].split()[0].replace("−", "-"))
    assert told == pytest.approx(estimator.score(X), rel=1e-3)
    stream = kullback.GaussianMixture(2, random_state=0).fit_stream(np.array_split(X.to_numpy(), 4))
    told_of_stream = dict(facts_of(Subject(stream)))
    assert told_of_stream["Batches"] == "4"
    assert "Converged" not in told_of_stream


def test_least_likely_rows_are_those_with_the_lowest_score():
    estimator, X = fitted("GaussianMixture")
    X = X.copy()
    X[17] = 50.0
    (least,) = least_likely(Subject(estimator, X))
    found = [int(row[0]) for row in least.rows]
    assert found == np.argsort(estimator.score_samples(X))[:10].tolist()
    assert found[0] == 17


def test_combination_shows_before_and_after(tmp_path):
    sites = [blobs(seed=seed) for seed in range(2)]
    before = [kullback.GaussianMixture(2, random_state=0).fit(X) for X in sites]
    after = kullback.combine(before)
    page, text = read(write_report(after, tmp_path / "page.html", sites[0], before=before))
    check_page(page, text)
    assert [name for name in page.figures if name.startswith("combination-")] == [f"combination-{i}" for i in range(3)]
    begin = text.index('id="combination-table"')
    cells = re.findall(r"<td>(−[\d.]+)</td>", text[begin : text.index("</table>", begin)])
    told = [float(cell.replace("−", "-")) for cell in cells]
    expected = [estimator.score(sites[0]) for estimator in (*before, after)]
    np.testing.assert_allclose(told, expected, rtol=1e-3)

    with pytest.raises(ValueError, match=r"before\[0\] is a GaussianHMM of 2 columns"):
        write_report(after, tmp_path / "page.html", before=[fitted("GaussianHMM")[0]])


def test_combination_without_ellipses_shows_marginals(tmp_path):
    estimator, _ = fitted("BernoulliMixture")
    page, text = read(write_report(estimator, tmp_path / "page.html", before=[estimator, estimator]))
    check_page(page, text)
    assert {"combination-table", "combination-0", "combination-1"} <= set(page.ids)


def test_long_and_wide_tables_are_shown_in_part_and_the_page_says_so(tmp_path):
    X = np.random.default_rng(0).normal(size=(2500, 13))
    components = DiagonalGaussian(np.zeros((1, 13)), np.ones((1, 13)))
    estimator = kullback.GaussianMixture.from_model(models.Mixture(np.ones(1), components))
    page, text = read(write_report(estimator, tmp_path / "page.html", X))
    check_page(page, text)
    assert "2,000 of 2,500 rows" in text
    assert "The first 12 of 13 columns" in text
    assert "3 more columns are not shown" in text
    assert len([name for name in page.figures if name.startswith("marginal-")]) == 12
    long = table("key", "Title", ["a"], [[place] for place in range(25)])
    assert len(long.rows) == 20
    assert long.note == "5 more rows are not shown."


def test_a_system_with_inputs_says_what_it_cannot_show(tmp_path):
    X, inputs = series(), series(seed=1)
    system = kullback.LinearDynamicalSystem(1, random_state=0, max_iter=2, tol=0.0).fit(X, inputs=inputs)
    page, text = read(write_report(system, tmp_path / "page.html", X))
    check_page(page, text)
    assert "The system has inputs" in text
    assert page.figures == ["eigenvalues", "learning"]


def test_the_same_model_gives_the_same_bytes_and_leaves_settings_alone(tmp_path):
    import matplotlib as mpl

    estimator, X = fitted("CompoundDirichlet")
    before = dict(mpl.rcParams)
    with mpl.rc_context({"text.parse_math": True, "font.family": ["serif"], "axes.facecolor": "red"}):
        one = write_report(estimator, tmp_path / "folder" / "one.html", X).read_bytes()
    assert dict(mpl.rcParams) == before
    assert write_report(estimator, tmp_path / "two.html", X).read_bytes() == one


def test_says_what_is_wrong(tmp_path):
    from sklearn.exceptions import NotFittedError

    X = pd.DataFrame(blobs(columns=3), columns=["a", "b", "c"])
    estimator = kullback.GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="data has 2 columns: the model has 3"):
        write_report(estimator, tmp_path / "page.html", blobs(columns=2))
    with pytest.raises(ValueError, match=r"data has the columns \['c', 'b', 'a'\]: the model was fitted to"):
        write_report(estimator, tmp_path / "page.html", X[["c", "b", "a"]])
    with pytest.raises(ValueError, match=r"data has shape \(0, 3\): a report needs a table with rows"):
        write_report(estimator, tmp_path / "page.html", blobs(columns=3)[:0])
    with pytest.raises(NotFittedError):
        write_report(kullback.GaussianMixture(2), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
