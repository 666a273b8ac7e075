import datetime
import functools
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

import kullback
from contracts.estimators import each_estimator
from estimators.small_autoencoder import SmallAutoencoder
from kullback import models
from kullback.families import DiagonalGaussian, Gaussian
from kullback.report import Section, model_sections, write_report
from kullback.report._combination import counterparts
from kullback.report._context import ReportContext
from kullback.report._facts import facts as facts_of
from kullback.report._linear_system import _one_step
from kullback.report._parts import table
from kullback.report._rows import certainty, least_likely, responsibilities
from report.reports import CHAIN, MAKE, Page, blobs, fitted, series
from tiers import slow

#: What each kind shows with data, besides marginals.
FIGURES = {
    "GaussianMixture": {"ellipses"},
    "BernoulliMixture": {"scatter", "responsibilities"},
    "PoissonMixture": {"ellipses"},
    "CategoricalMixture": {"scatter", "responsibilities"},
    "Mixture": {"scatter"},
    "CompoundDirichlet": {"scatter"},
    "ProbabilisticPCA": {"ellipses", "loadings", "explained"},
    "FactorAnalysis": {"ellipses", "loadings", "explained"},
    "GaussianHMM": {"timeline", "transitions", "ellipses"},
    "CategoricalHMM": {"timeline", "transitions"},
    "PoissonHMM": {"timeline", "transitions", "ellipses"},
    "MultinomialHMM": {"timeline", "transitions", "scatter"},
    "HMM": {"timeline", "transitions", "scatter"},
    "SpikingNetwork": {"raster"},
    "LinearDynamicalSystem": {"forecast", "eigenvalues"},
}

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


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


@pytest.mark.parametrize("kind", each_estimator(MAKE.keys(), slow=("Mixture", "GaussianHMM", "LinearDynamicalSystem")))
def test_every_kind_has_a_page(kind, tmp_path):
    estimator, X = fitted(kind)
    page, text = read(write_report(estimator, tmp_path / "page.html", X))
    check_page(page, text)
    marginals = [name for name in page.figures if name.startswith("marginal-")]
    assert len(marginals) == (0 if kind in ("LinearDynamicalSystem", "SpikingNetwork") else X.shape[1])
    assert set(page.figures) - set(marginals) - {"learning", "learning-stream"} == FIGURES[kind]
    assert ("learning" in page.figures) == (len(getattr(estimator, "lower_bounds_", [])) > 1)
    assert "least-likely" in page.ids
    if not hasattr(estimator, "score_samples") or kind.endswith("HMM"):  # a series: the score is that of all rows
        facts = page.facts
        told = float(facts["Log-likelihood of these rows"].split()[0].replace("−", "-"))
        assert told == pytest.approx(estimator.score(X) / len(X), rel=1e-3)


@pytest.mark.parametrize("kind", ["CompoundDirichlet", slow("GaussianHMM"), "LinearDynamicalSystem"])
def test_a_page_needs_no_data(kind, tmp_path):
    page, text = read(write_report(fitted(kind)[0], tmp_path / "page.html"))
    check_page(page, text)
    assert page.figures
    assert not {"least-likely", "timeline", "forecast", "responsibilities"} & set(page.ids)


@pytest.mark.slow
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


@pytest.mark.slow
def test_head_tells_what_was_learned_from_how_much(tmp_path):
    X = pd.DataFrame(blobs(), columns=["a", "b"])
    estimator = kullback.GaussianMixture(2, random_state=0).fit(X)
    page, _ = read(write_report(estimator, tmp_path / "page.html", X.to_numpy()))  # the names are known from the fit
    assert {"a", "b"} <= set(page.text["strong"])
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    facts = page.facts
    assert "Model" not in facts  # the heading has it
    assert dict(facts_of(ReportContext(estimator), "A title"))["Model"] == "GaussianMixture"
    assert facts["Components"] == "2"
    assert facts["Learned from"] == "80 rows"
    assert facts["Converged"].startswith("yes")
    assert facts["Page written"].endswith(f"kullback {kullback.__version__}")
    told = float(facts["Log-likelihood of these rows"].split()[0].replace("−", "-"))
    assert told == pytest.approx(estimator.score(X), rel=1e-3)
    stream = kullback.GaussianMixture(2, random_state=0).fit_stream(np.array_split(X.to_numpy(), 4))
    told_of_stream = dict(facts_of(ReportContext(stream)))
    assert told_of_stream["Batches"] == "4"
    assert "Converged" not in told_of_stream


def test_least_likely_rows_are_those_with_the_lowest_score():
    estimator, X = fitted("GaussianMixture")
    X = X.copy()
    X[17] = 50.0
    (least,) = least_likely(ReportContext(estimator, X))
    found = [int(row[0]) - 1 for row in least.rows]
    assert found == np.argsort(estimator.score_samples(X))[:10].tolist()
    assert found[0] == 17


def test_values_that_make_a_row_unlikely_are_named(tmp_path):
    estimator, X = fitted("GaussianMixture")
    X = X.copy()
    X[17] = [50.0, X[17, 1]]
    X[3, 1] = np.nan
    context = ReportContext(estimator, X)
    weights, means, covariances = estimator.weights_, estimator.means_, estimator.covariances_

    def log_likelihood(kept):
        parts = [
            stats.multivariate_normal(mean[kept], covariance[np.ix_(kept, kept)]).logpdf(X[:, kept])
            for mean, covariance in zip(means, covariances, strict=True)
        ]
        return logsumexp(np.reshape(parts, (2, -1)), axis=0, b=weights[:, None])

    surprises = np.stack([log_likelihood([1 - k]) - log_likelihood([0, 1]) for k in range(2)], axis=1)
    surprises[3] = [-log_likelihood([0])[3], np.nan]
    found = context.contributions(np.arange(80))
    expected = np.nan_to_num(surprises - np.nanmedian(surprises, axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    (least,) = least_likely(context)
    assert least.headers == ["row", "log-likelihood", "unlikely values", "column 0", "column 1"]
    assert least.rows[0][0] == "18"
    assert 1 < found[17, 1] < 0.1 * found[17, 0]  # so it is not worth naming
    assert re.fullmatch(r"column 0 50 \(\+[\d,]+\)", least.rows[0][2])
    text = write_report(estimator, tmp_path / "page.html", X).read_text(encoding="utf-8")
    assert "more surprising the value is than usual" in text


def test_columns_that_cannot_be_told_apart_are_not_named():
    counts, X = fitted("CompoundDirichlet")  # counts of one total
    (least,) = least_likely(ReportContext(counts, X))
    assert least.headers == ["row", "log-likelihood", "column 0", "column 1"]
    gaussian, X = fitted("GaussianMixture")
    assert ReportContext(gaussian, X[:5]).contributions(np.arange(5)) is None  # nothing is usual yet
    assert ReportContext(gaussian).contributions(np.arange(0)) is None


@pytest.mark.slow
def test_combination_shows_before_and_after(tmp_path):
    sites = [blobs(seed=seed) for seed in range(2)]
    before = [kullback.GaussianMixture(2, random_state=0).fit(X) for X in sites]
    after = kullback.combine(before)
    page, text = read(write_report(after, tmp_path / "page.html", sites[0], before=before))
    check_page(page, text)
    assert [name for name in page.figures if name.startswith("combination-")] == [f"combination-{i}" for i in range(3)]
    begin = text.index('id="combination-table"')
    cells = re.findall(r"<td[^>]*>(−[\d.]+)</td>", text[begin : text.index("</table>", begin)])
    told = [float(cell.replace("−", "-")) for cell in cells]
    expected = [estimator.score(sites[0]) for estimator in (*before, after)]
    np.testing.assert_allclose(told, expected, rtol=1e-3)

    with pytest.raises(ValueError, match="model 0 in before is a GaussianHMM of 2 columns"):
        write_report(after, tmp_path / "page.html", before=[fitted("GaussianHMM")[0]])


@pytest.mark.slow
def test_components_have_the_color_of_what_they_went_into(tmp_path):
    means = np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 9.0]])

    def mixture(order, shift):
        gaussians = Gaussian(means[order] + shift, np.tile(np.eye(2), (len(order), 1, 1)))
        return kullback.GaussianMixture.from_model(models.Mixture(np.full(len(order), 1 / len(order)), gaussians))

    after = ReportContext(mixture([0, 1, 2], 0.0))
    assert counterparts(ReportContext(mixture([2, 0, 1], 0.3)), after).tolist() == [2, 0, 1]
    assert counterparts(ReportContext(mixture([1, 2], 0.3)), after).tolist() == [1, 2]
    assert counterparts(ReportContext(mixture([1, 1, 2, 0], 0.3)), after).tolist()[2:] == [2, 0]
    before = mixture([2, 0, 1], 0.3)
    _, text = read(write_report(after.estimator, tmp_path / "page.html", before=[before]))
    figures = [re.search(rf'<figure id="combination-{k}".*?</figure>', text, re.DOTALL).group() for k in range(2)]
    # the dots of means come in the order of the components: here of the third, the first and the second
    colors = [re.findall(r'<use[^>]*style="fill: var\(--(\w+)\)', figure)[-3:] for figure in figures]
    assert colors[1] == ["blue", "vermilion", "green"]
    assert colors[0] == ["green", "blue", "vermilion"]


def test_combination_without_ellipses_shows_marginals(tmp_path):
    estimator, _ = fitted("BernoulliMixture")
    page, text = read(write_report(estimator, tmp_path / "page.html", before=[estimator, estimator]))
    check_page(page, text)
    assert {"combination-table", "combination-0", "combination-1"} <= set(page.ids)


@pytest.mark.slow
def test_long_and_wide_tables_are_shown_in_part_and_the_page_says_so(tmp_path):
    X = np.random.default_rng(0).normal(size=(2500, 13))
    components = DiagonalGaussian(np.zeros((1, 13)), np.ones((1, 13)))
    estimator = kullback.GaussianMixture.from_model(models.Mixture(np.ones(1), components))
    page, text = read(write_report(estimator, tmp_path / "page.html", X))
    check_page(page, text)
    assert "2,000 of 2,500 rows" in text
    assert text.count("The first 12 of 13 columns") == 1
    assert len([name for name in page.figures if name.startswith("marginal-")]) == 12
    long = table("key", "Title", ["a"], [[place] for place in range(25)])
    assert len(long.rows) == 20
    assert long.note == "The first 20 of 25 rows."
    wide = table("key", "Title", [str(k) for k in range(15)], [list(range(15))])
    assert len(wide.headers) == len(wide.rows[0]) == 12
    assert wide.note == "The first 12 of 15 columns."


@functools.cache
def driven():
    """Return a system with inputs, and two sequences with theirs."""
    X, inputs = series(), np.stack([series(seed=1)[:, 0], series(seed=2)[:, 0]], axis=1)
    fit = kullback.LinearDynamicalSystem(1, random_state=0, max_iter=2, tol=0.0).fit
    return fit(X, lengths=[50, 70], inputs=inputs), X, inputs


@pytest.mark.slow
def test_a_system_with_inputs_says_what_it_cannot_show(tmp_path):
    system, X, inputs = driven()
    page, text = read(write_report(system, tmp_path / "page.html", X))
    check_page(page, text)
    assert "This model takes inputs, and none were given" in text
    assert page.figures == ["eigenvalues", "learning"]
    page, text = read(write_report(system, tmp_path / "page.html", X, lengths=[50, 70], inputs=inputs))
    check_page(page, text)
    assert page.figures == ["forecast", "eigenvalues", "learning"]
    assert "There is no forecast, because the future inputs were not given." in text
    assert "The last 69 rows of the last sequence" in text
    told = float(page.facts["Log-likelihood of these rows"].split()[0].replace("−", "-"))
    assert told == pytest.approx(system.score(X, [50, 70], inputs) / len(X), rel=1e-3)
    assert page.facts["Rows shown"] == "120 in 2 sequences"


def test_a_forecast_goes_as_far_as_the_inputs_that_are_known(tmp_path):
    system, X, inputs = driven()
    given = {"lengths": [50, 70], "inputs": inputs, "future_inputs": inputs[:7]}
    page, text = read(write_report(system, tmp_path / "page.html", X, **given))
    check_page(page, text)
    assert "a forecast of the next 7" in text
    assert {"input 0", "input 1"} <= set(page.text["th"])


def test_what_was_expected_one_step_before_is_the_forecast_of_one_step():
    system, X, inputs = driven()
    found = _one_step(ReportContext(system, X, None, inputs), X, inputs)
    for row in (1, 60, 119):
        one = system.forecast(X[:row], inputs=inputs[:row], future_inputs=inputs[row : row + 1])
        np.testing.assert_allclose(found[row - 1], one.mean[0], rtol=1e-9)


def test_sequences_are_told_apart(tmp_path):
    estimator, X = fitted("GaussianHMM")
    lengths = [30, 50]
    page, text = read(write_report(estimator, tmp_path / "page.html", X, lengths=lengths))
    check_page(page, text)
    assert "Dotted lines mark the start of a new sequence" in text
    context = ReportContext(estimator, X, lengths)
    np.testing.assert_array_equal(context.labels, estimator.predict(X, lengths))
    assert context.log_likelihoods.sum() == pytest.approx(estimator.score(X, lengths), rel=1e-9)
    assert estimator.score(X, lengths) != pytest.approx(estimator.score(X), rel=1e-4)
    (least,) = least_likely(context)
    assert least.headers[:3] == ["row", "sequence", "log-likelihood"]
    assert all(cells[1] == str(1 + (int(cells[0]) > 30)) for cells in least.rows)


@pytest.mark.slow
def test_a_stream_has_a_curve_of_its_own(tmp_path):
    stream = kullback.GaussianMixture(2, random_state=0).fit_stream(np.array_split(blobs(), 4))
    page, text = read(write_report(stream, tmp_path / "page.html", before=[stream, stream]))
    check_page(page, text)
    assert {"learning-stream", "learning-before"} <= set(page.figures)
    assert "learning" not in page.figures
    assert "Neighboring batches" not in text
    stream.n_batches_seen_ = 1000
    assert "Neighboring batches" in write_report(stream, tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_same_model_gives_the_same_bytes_and_leaves_settings_alone(tmp_path):
    import matplotlib as mpl

    estimator, X = fitted("CompoundDirichlet")
    before = dict(mpl.rcParams)
    with mpl.rc_context({"text.parse_math": True, "font.family": ["serif"], "axes.facecolor": "red"}):
        one = write_report(estimator, tmp_path / "folder" / "one.html", X, date=NOON).read_bytes()
    assert dict(mpl.rcParams) == before
    assert write_report(estimator, tmp_path / "two.html", X, date=NOON).read_bytes() == one


def test_the_head_names_where_the_model_comes_from_and_when_the_page_was_written(tmp_path):
    estimator, _ = fitted("CompoundDirichlet")
    origin = {"Data": "<i>a b</i>.csv", "Made by": "kullback fit compound-dirichlet data.csv"}
    page, text = read(write_report(estimator, tmp_path / "page.html", origin=origin, date=NOON, title="Counts"))
    assert "<i>" not in text
    assert {name: page.facts[name] for name in origin} == origin
    assert page.facts["Page written"] == f"2026-03-01 12:00 UTC, kullback {kullback.__version__}"
    assert page.facts["Model"] == "CompoundDirichlet"
    assert page.text["h1"] == ["Counts"]
    today = datetime.date.today()
    page, _ = read(write_report(estimator, tmp_path / "page.html"))
    written = datetime.date.fromisoformat(page.facts["Page written"].split()[0])
    assert today <= written <= datetime.date.today()


def test_models_before_have_their_names(tmp_path):
    estimator, _ = fitted("BernoulliMixture")
    before = {"Berlin <1>": estimator, "night shift": estimator}
    page, text = read(write_report(estimator, tmp_path / "page.html", before=before))
    check_page(page, text)
    begin = text.index('id="combination-table"')
    cells = re.findall(r"<th[^>]*>([^<]*)</th>", text[begin : text.index("</table>", begin)])
    assert cells[-3:] == ["Berlin &lt;1&gt;", "night shift", "Combination"]
    legend = text[text.index('id="combination-0"') :]
    assert "Berlin &lt;1&gt;" in legend[: legend.index("</figure>")]


def test_rows_that_are_nearly_all_sure_need_a_sentence_and_no_picture():
    gaussian, X = fitted("GaussianMixture")
    sure = ReportContext(gaussian, X)
    assert responsibilities(sure) == []
    assert certainty(sure) == "All 80 rows belong to one component with a probability above 0.999."
    gray = np.concatenate([X, np.zeros((40, 2))])
    highest = gaussian.predict_proba(gray).max(axis=1)
    count = int(np.sum(highest > 0.9))
    context = ReportContext(gaussian, gray)
    assert len(responsibilities(context)) == 1
    assert certainty(context).startswith(f"{count} of 120 rows (66.7 %) belong to one component with a probability")
    told = re.search(r"the least certain is row (\d+), with ([\d.]+)\.$", certainty(context))
    assert int(told.group(1)) - 1 == highest.argmin()
    assert float(told.group(2)) == pytest.approx(highest.min(), rel=1e-2)
    which = gaussian.predict(X[:1])[0]
    one = certainty(ReportContext(gaussian, X[:1]))
    assert one == f"The row belongs to component {which} with a probability of 1."
    assert certainty(ReportContext(gaussian)) == ""


def test_tables_that_are_too_wide_for_a_phone_stack_their_cells(tmp_path):
    narrow = table("key", "Title", ["row", "value"], [["0", "1.5"]])
    assert not narrow.wide
    assert table("key", "Title", ["row", "value"], [["0", "a" * 60]]).wide
    estimator, X = fitted("HMM")
    _, text = read(write_report(estimator, tmp_path / "page.html", X))
    begin = text.index('<div class="table stacks" id="least-likely"')
    rows = text[begin : text.index("</table>", begin)]
    names = re.findall(r'data-name="([^"]*)"', rows)
    assert names[:6] == ["row", "log-likelihood", "unlikely values", "column 0", "column 1", "column 2"]
    assert rows.count('data-name="column 2"') == 10


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
    with pytest.raises(ValueError, match="lengths is given for a GaussianMixture: it is for data of a model with time"):
        write_report(estimator, tmp_path / "page.html", X, lengths=[40, 40])
    hmm, rows = fitted("GaussianHMM")
    with pytest.raises(ValueError, match="lengths array sums to 79 and doesn't sum to 80 samples"):
        write_report(hmm, tmp_path / "page.html", rows, lengths=[40, 39])
    with pytest.raises(ValueError, match="inputs is given for a GaussianHMM: it is for data of a system"):
        write_report(hmm, tmp_path / "page.html", rows, inputs=rows)
    system, rows, inputs = driven()
    with pytest.raises(ValueError, match=r"inputs has shape \(120,\): it must be \(120, 2\)"):
        write_report(system, tmp_path / "page.html", rows, inputs=inputs[:, 0])
    with pytest.raises(ValueError, match="future_inputs has entries that are not finite"):
        write_report(system, tmp_path / "page.html", rows, inputs=inputs, future_inputs=[[np.nan, 0.0]])
    with pytest.raises(NotFittedError):
        write_report(kullback.GaussianMixture(2), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_model_that_no_section_is_written_for_has_a_page(tmp_path):
    X = blobs(rows=20)
    network = SmallAutoencoder(4, max_iter=2, n_iter_no_change=2, random_state=0, validation_fraction=0)
    with pytest.warns(ConvergenceWarning):
        network.fit(X)
    page, text = read(write_report(network, tmp_path / "page.html", X, date=NOON))
    check_page(page, text)
    assert {"samples-0", "samples-1", "learning"} <= set(page.figures)
    assert "Least likely rows" in text
    again = write_report(network, tmp_path / "again.html", X, date=NOON)
    assert again.read_text(encoding="utf-8") == text


def test_a_model_can_have_sections_of_its_own(tmp_path, monkeypatch):
    class Flat(models.Mixture):
        """A mixture by another name."""

    model_sections.register(Flat, lambda model, context, future: [Section("own", "My own section", "Seen.", [], [])])
    estimator, _ = fitted("PoissonMixture")
    model = estimator.to_model()
    monkeypatch.setattr(type(estimator), "to_model", lambda self: Flat(model.weights, model.components))
    _, text = read(write_report(estimator, tmp_path / "page.html"))
    assert "My own section" in text
    assert "Column by column" in text
