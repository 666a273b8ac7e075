"""What every version of what kullback stands on must be able to do; run by itself, with nothing but NumPy to judge.

It says nothing when all is well.
"""

import io
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import kullback as kb

random = np.random.default_rng(0)
LABELS = random.integers(2, size=120)
X = random.normal(size=(120, 3)) + 6.0 * LABELS[:, None]
HOLES = np.where(random.random(X.shape) < 0.05, np.nan, X)
COUNTS = random.poisson(2.0 + 9.0 * LABELS[:, None], (120, 2)).astype(float)
FEW = {"max_iter": 5, "random_state": 0}
ESTIMATORS = [
    (kb.GaussianMixture(2, **FEW), HOLES),
    (kb.GaussianMixture(2, covariance_type="diag", **FEW), X),
    (kb.PoissonMixture(2, **FEW), COUNTS),
    (kb.BernoulliMixture(2, **FEW), (COUNTS > 4).astype(float)),
    (kb.Mixture(2, family=["gaussian", "poisson"], **FEW), np.c_[X[:, 0], COUNTS[:, 0]]),
    (kb.FactorAnalysis(1, **FEW), X),
    (kb.ProbabilisticPCA(1, **FEW), HOLES),
    (kb.CompoundDirichlet(**FEW), COUNTS),
    (kb.GaussianHMM(2, n_iter=5, random_state=0), X),
    (kb.CategoricalHMM(2, n_iter=5, random_state=0), LABELS[:, None]),
    (kb.LinearDynamicalSystem(1, **FEW), X),
]


def learn_score_and_save(folder):
    for estimator, data in ESTIMATORS:
        estimator.fit(data).partial_fit(data[:50])
        score = estimator.score(data)
        assert np.isfinite(score), estimator
        path = folder / f"{type(estimator).__name__}.safetensors"
        estimator.save(path)
        assert kb.load(path).score(data) == score, estimator
        assert np.isfinite(np.asarray(estimator.sample(3)[0], float)).all(), estimator


def find_the_two_groups():
    found = kb.GaussianMixture(2, random_state=0).fit(X).predict(X)
    assert (found == LABELS).all() or (found == 1 - LABELS).all()


def refuse_bad_parameters():
    for bad in ({"n_components": 0}, {"covariance_type": "round"}, {"tol": -1.0}):
        said = ""
        try:
            kb.GaussianMixture(**bad).fit(X)
        except ValueError as error:
            said = str(error)
        assert next(iter(bad)) in said, (bad, said)


def minimize_and_measure():
    best = kb.minimize(lambda x: float(np.sum(np.square(x - 1))), np.zeros(2), budget=400, seed=0)
    assert np.allclose(best.x, 1, atol=1e-2)
    p, q = kb.families.Poisson(2.0), kb.families.Poisson(3.0)
    assert np.isclose(float(kb.relative_entropy(p, q)), 2 * np.log(2 / 3) + 1, rtol=1e-5)


def command(folder):
    table, model, page = folder / "table.csv", folder / "model.safetensors", folder / "page.html"
    np.savetxt(text := io.StringIO(), X, delimiter=",")
    table.write_text("a,b,c\n" + text.getvalue(), encoding="utf-8")
    run = [sys.executable, "-W", "ignore", "-m", "kullback"]
    fit = ["fit", "gaussian-mixture", str(table), "--n-components", "2", "--save", str(model), "--quiet"]
    for arguments in (
        fit,
        ["score", str(model), str(table)],
        ["report", str(model), "--data", str(table), "--output", str(page)],
    ):
        done = subprocess.run([*run, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (arguments, done.stderr)
    assert "</html>" in page.read_text(encoding="utf-8")


if __name__ == "__main__":  # pytest imports this file too, to look for examples
    warnings.simplefilter("ignore")  # old versions warn of new ones
    with tempfile.TemporaryDirectory() as name:
        find_the_two_groups()
        learn_score_and_save(pathlib.Path(name))
        refuse_bad_parameters()
        minimize_and_measure()
        command(pathlib.Path(name))
