import re
import warnings

import numpy as np
import pandas as pd
import pytest
from report.reports import KINDS, Page, blobs, fitted, mixed, series

import kullback
from kullback.report import write_report

#: What each kind shows with data, besides marginals.
FIGURES = {
    "GaussianMixture": {"ellipses", "responsibilities"},
    "BernoulliMixture": {"responsibilities"},
    "PoissonMixture": {"ellipses", "responsibilities"},
    "CategoricalMixture": {"responsibilities"},
    "Mixture": {"responsibilities"},
    "Mixture of gammas": {"ellipses", "responsibilities"},
    "Mixture of spheres": {"ellipses", "responsibilities"},
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


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_page_with_data_and_without(kind, tmp_path):
    estimator, X = fitted(kind)
    page, text = read(write_report(estimator, tmp_path / "with.html", X))
    check_page(page, text)
    marginals = [name for name in page.figures if name.startswith("marginal-")]
    assert len(marginals) == (0 if kind == "LinearDynamicalSystem" else X.shape[1])
    if kind in FIGURES:
        assert set(page.figures) - set(marginals) - {"learning"} == FIGURES[kind]
    assert "least-likely" in page.ids

    page, text = read(write_report(estimator, tmp_path / "without.html"))
    check_page(page, text)
    assert page.figures
    assert not {"least-likely", "timeline", "forecast", "responsibilities"} & set(page.ids)


def test_names_of_columns_and_title_are_escaped(tmp_path):
    names = ["<script>alert(1)</script>", 'a"b\'&amp;', "$\\frac{1}{2", "多\x00\n"]
    X = pd.DataFrame(blobs(columns=4), columns=names)
    estimator = kullback.GaussianMixture(2, random_state=0, tol=1e9).fit(X)
    page, text = read(write_report(estimator, tmp_path / "page.html", X, title="<b>&</b>"))
    check_page(page, text)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert page.text["title"][0] == "<b>&</b>"
    assert names[0] in page.text["strong"]
    assert "$\\frac{1}{2" in page.text["strong"]

    hmm = kullback.GaussianHMM(2, random_state=0, n_iter=2).fit(X)
    page, text = read(write_report(hmm, tmp_path / "hmm.html", X))
    check_page(page, text)
    assert "<script" not in text


def test_head_tells_what_was_learned_from_how_much(tmp_path):
    X = blobs()
    estimator = kullback.GaussianMixture(2, random_state=0).fit(X)
    page, _ = read(write_report(estimator, tmp_path / "page.html", X))
    facts = dict(zip(page.text["dt"], page.text["dd"], strict=True))
    assert facts["Model"] == "GaussianMixture"
    assert facts["Components"] == "2"
    assert facts["Learned from"] == "120 rows"
    assert facts["Converged"].startswith("yes")
    assert facts["kullback"] == kullback.__version__
    told = float(facts["Log-likelihood of the data"].split()[0].replace("−", "-"))
    assert told == pytest.approx(estimator.score(X), rel=1e-3)

    stream = kullback.GaussianMixture(2, random_state=0).fit_stream(np.array_split(X, 4))
    page, _ = read(write_report(stream, tmp_path / "page.html"))
    facts = dict(zip(page.text["dt"], page.text["dd"], strict=True))
    assert facts["Batches"] == "4"
    assert "Converged" not in facts
    assert "learning" not in page.figures


@pytest.mark.parametrize("kind", ["GaussianHMM", "HMM", "MultinomialHMM", "LinearDynamicalSystem"])
def test_likelihood_of_a_series_is_that_of_its_rows(kind, tmp_path):
    estimator, X = fitted(kind)
    page, _ = read(write_report(estimator, tmp_path / "page.html", X))
    facts = dict(zip(page.text["dt"], page.text["dd"], strict=True))
    told = float(facts["Log-likelihood of the data"].split()[0].replace("−", "-"))
    assert told == pytest.approx(estimator.score(X) / len(X), rel=1e-3)


def test_least_likely_rows_are_those_with_the_lowest_score(tmp_path):
    X = blobs()
    X[17] = 50.0
    estimator = kullback.GaussianMixture(2, random_state=0).fit(blobs())
    page, text = read(write_report(estimator, tmp_path / "page.html", X))
    table = text[text.index('id="least-likely"') :]
    found = [int(row) for row in re.findall(r'<th scope="row">(\d+)</th>', table)]
    assert found == np.argsort(estimator.score_samples(X))[:10].tolist()
    assert found[0] == 17


def test_combination_shows_before_and_after(tmp_path):
    sites = [blobs(seed=seed) for seed in range(2)]
    before = [kullback.GaussianMixture(2, random_state=0).fit(X) for X in sites]
    after = kullback.combine(before)
    page, text = read(write_report(after, tmp_path / "page.html", sites[0], before=before))
    check_page(page, text)
    assert [name for name in page.figures if name.startswith("combination-")] == [f"combination-{i}" for i in range(3)]
    table = text[text.index('id="combination-table"') : text.index("</table>", text.index('id="combination-table"'))]
    told = [float(cell.replace("−", "-")) for cell in re.findall(r"<td>(−[\d.]+)</td>", table)]
    expected = [estimator.score(sites[0]) for estimator in (*before, after)]
    np.testing.assert_allclose(told, expected, rtol=1e-3)

    with pytest.raises(ValueError, match=r"before\[0\] is a GaussianHMM of 3 columns"):
        write_report(after, tmp_path / "page.html", before=[fitted("GaussianHMM")[0]])


@pytest.mark.parametrize("kind", ["Mixture", "LinearDynamicalSystem"])
def test_combination_without_ellipses(kind, tmp_path):
    estimator, X = fitted(kind)
    page, text = read(write_report(estimator, tmp_path / "page.html", X, before=[estimator, estimator]))
    check_page(page, text)
    assert "combination-table" in page.ids
    assert ("combination-0" in page.ids) == (kind == "Mixture")


def test_missing_entries_leave_gaps(tmp_path):
    rng = np.random.default_rng(0)
    for kind, X in (("Mixture", mixed()), ("GaussianHMM", blobs()), ("LinearDynamicalSystem", series())):
        estimator, _ = fitted(kind)
        X[rng.random(X.shape) < 0.2] = np.nan
        page, text = read(write_report(estimator, tmp_path / "page.html", X))
        check_page(page, text)
        assert "least-likely" in page.ids


def test_long_and_wide_tables_are_shown_in_part_and_the_page_says_so(tmp_path):
    X = np.random.default_rng(0).normal(size=(30_000, 30))
    estimator = kullback.GaussianMixture(25, random_state=0, covariance_type="diag", max_iter=1, tol=1e9).fit(X[:500])
    page, text = read(write_report(estimator, tmp_path / "page.html", X))
    check_page(page, text)
    assert "2,000 of 30,000 rows" in text
    assert "The first 12 of 30 columns" in text
    assert "5 more rows are not shown" in text
    assert len([name for name in page.figures if name.startswith("marginal-")]) == 12


def test_a_system_with_inputs_says_what_it_cannot_show(tmp_path):
    X, inputs = series(), series(seed=1)
    system = kullback.LinearDynamicalSystem(1, random_state=0, max_iter=2, tol=0.0).fit(X, inputs=inputs)
    page, text = read(write_report(system, tmp_path / "page.html", X))
    check_page(page, text)
    assert "The system has inputs" in text
    assert page.figures == ["eigenvalues", "learning"]


def test_the_same_model_gives_the_same_bytes_and_leaves_settings_alone(tmp_path):
    import matplotlib as mpl

    estimator, X = fitted("GaussianHMM")
    before = dict(mpl.rcParams)
    with mpl.rc_context({"text.parse_math": True, "font.family": ["serif"], "axes.facecolor": "red"}):
        one = write_report(estimator, tmp_path / "folder" / "one.html", X).read_bytes()
    assert dict(mpl.rcParams) == before
    assert write_report(estimator, tmp_path / "two.html", X).read_bytes() == one


def test_frames_and_arrays_of_one_fit_raise_no_warning(tmp_path):
    X = pd.DataFrame(blobs(), columns=["a", "b", "c"])
    estimator = kullback.GaussianMixture(2, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page, _ = read(write_report(estimator, tmp_path / "page.html", X.to_numpy()))
    assert {"a", "b", "c"} <= set(page.text["strong"])
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]


def test_says_what_is_wrong(tmp_path):
    from sklearn.exceptions import NotFittedError

    X = pd.DataFrame(blobs(), columns=["a", "b", "c"])
    estimator = kullback.GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="data has 2 columns: the model has 3"):
        write_report(estimator, tmp_path / "page.html", blobs(columns=2))
    with pytest.raises(ValueError, match=r"data has the columns \['c', 'b', 'a'\]: the model was fitted to"):
        write_report(estimator, tmp_path / "page.html", X[["c", "b", "a"]])
    with pytest.raises(ValueError, match=r"data has shape \(0, 3\): a report needs a table with rows"):
        write_report(estimator, tmp_path / "page.html", blobs()[:0])
    with pytest.raises(NotFittedError):
        write_report(kullback.GaussianMixture(2), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
