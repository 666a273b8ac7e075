"""The section of a page that says how sure a model is."""

import kullback
from kullback.estimators import assess_estimator
from kullback.report import write_report
from report.reports import blobs


def test_the_page_shows_the_assessment(tmp_path):
    X = blobs()
    estimator = kullback.GaussianMixture(2, random_state=0)
    for start in range(14):
        estimator.partial_fit(X[start::4])
    found = assess_estimator(estimator, X, held_out=blobs(seed=1), draws=0, refits=0)
    stability = {
        "refits": 2,
        "seen_within": 0.5,
        "least_seen": 0.8,
        "components": [
            {"component": k, "weight": 0.5, "weight_error": 0.05, "relative_entropy": 0.01, "seen": 1.0 - 0.5 * k}
            for k in range(2)
        ],
        "unstable": [1],
    }
    facts = {**found.facts, "stability": stability, "pareto_k": [0.1, 0.9], "problem": "The chains have not moved."}
    facts["coefficient"] = {"value": 4.0, "standard_error": 0.5}
    whole = found._replace(facts=facts, models=[estimator.to_model()] * 2)
    page = write_report(estimator, tmp_path / "page.html", X, assessment=whole).read_text(encoding="utf-8")
    section = page.partition('id="how-sure"')[2].partition("</section>")[0]
    for part in ("How sure", "on rows held out", "8 ± 1", "of the refits: 1.", "50 %", "The chains have not moved."):
        assert part in section, part
    assert section.count("<svg") == 3  # refits, k̂ by row, the band along the stream
    plain = write_report(estimator, tmp_path / "plain.html", X).read_text(encoding="utf-8")
    assert "How sure" not in plain
