"""The skeletons of CONTRIBUTING.md, written into a package by a newcomer, pass the tests of every registry."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SKELETONS = dict(
    re.findall(r"```python\n# newcomer/(\w+)\.py\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
)
#: Enters all cases before tests are collected; the registries of the library have a line in the cases or here.
PLUGIN = """
def pytest_sessionstart(session):
    from kullback import families, models
    {imports}
    families.REGISTRY += (newcomer.rayleigh_case.Rayleigh,)
    models.REGISTRY += (newcomer.zero_inflated_case.ZeroInflatedPoisson,)
"""
CASES = [name for name in SKELETONS if name.endswith("_case")]
#: What is asked of whom: tests of a registry, and the name of the newcomer among their cases.
LAWS = {
    "rayleigh": (
        ("contracts/test_every_family.py", "contracts/test_families.py", "contracts/test_family_questions.py"),
        "Rayleigh",
    ),
    "zero_inflated": (("contracts/test_models.py",), "ZeroInflatedPoisson"),
    "student_t": (("learning/test_learner_laws.py",), "StudentT"),
    "raw": (("sources/test_formats.py",), "raw"),
    "best_quarter": (("search/methods/test_protocol.py",), "best-quarter"),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "newcomer").mkdir()
    (folder / "newcomer" / "__init__.py").touch()
    for name, text in SKELETONS.items():
        (folder / "newcomer" / f"{name}.py").write_text(text)
    imports = "import " + ", ".join(f"newcomer.{name}" for name in CASES)
    (folder / "newcomer" / "plugin.py").write_text(PLUGIN.format(imports=imports))
    return folder


def run(package, *words):
    path = {"PYTHONPATH": f"{package}:{ROOT / 'tests'}"}
    found = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
    return found.stdout


def test_there_is_a_skeleton_for_every_registry():
    assert {name.removesuffix("_case") for name in CASES} == {*LAWS, "entropy"}
    assert "estimators" in SKELETONS


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_a_newcomer_passes_the_laws_of_its_registry(package, name):
    modules, member = LAWS[name]
    plugins = ("-p", "newcomer.plugin", "-p", "no:cacheprovider", "-n", 0, "-m", "slow or not slow")
    run(package, "-m", "pytest", "-q", *plugins, "-k", member, *(ROOT / "tests" / module for module in modules))


@pytest.mark.slow
def test_estimators_of_a_newcomer_keep_the_conventions_and_learn(package, tmp_path):
    """scikit-learn's checks that fit data of every kind, and what a user would do next."""
    code = """
import numpy as np, pickle, sys
from sklearn.base import clone
from newcomer.estimators import StudentTColumns, ZeroInflatedCounts
from newcomer.rayleigh import Rayleigh
import kullback

rng = np.random.default_rng(0)
counts = rng.poisson(4, (4000, 1)) * rng.binomial(1, 0.6, (4000, 1))
one = ZeroInflatedCounts().fit(counts)
assert abs(one.share_ - 0.6) < 0.05 and abs(one.rate_ - 4) < 0.2
stream = ZeroInflatedCounts().fit_stream(np.split(counts, 20))
assert abs(stream.share_ - 0.6) < 0.06 and len(stream.learning_curve_) == 20
both = kullback.combine([clone(one).fit(counts[:2000]), clone(one).fit(counts[2000:])])
assert abs(both.rate_ - one.rate_) < 0.05
assert (pickle.loads(pickle.dumps(one)).score_samples(counts) == one.score_samples(counts)).all()
tails = rng.standard_t(3, (4000, 2)) + [1, -2]
network = StudentTColumns(max_iter=60, random_state=0).fit(tails)
assert np.abs(network.network_.location - [1, -2]).max() < 0.2
assert network.score(tails) > -4.0
X = np.concatenate([np.sqrt(-2 * s * np.log(rng.random((500, 1)))) for s in (1.0, 100.0)])
mixture = kullback.Mixture(2, family="rayleigh", random_state=0).fit(X)
assert np.allclose(np.sort(mixture.square_.ravel()), [1, 100], rtol=0.25)
mixture.save(sys.argv[1])
"""
    path = tmp_path / "mixture.safetensors"
    run(package, "-c", code, path)
    import kullback.families

    with pytest.raises(ValueError, match="rayleigh"):  # whoever reads the file must know the family
        kullback.load(path)


@pytest.mark.slow
def test_a_command_of_a_newcomer_answers(package, tmp_path):
    import kullback

    X = np.random.default_rng(0).normal(size=(200, 2))
    kullback.GaussianMixture(1, random_state=0).fit(X).save(tmp_path / "model.safetensors")
    code = "import newcomer.entropy_case, sys; from kullback.cli import main; sys.argv[0] = 'kullback'; main()"
    assert "nats per row" in run(package, "-c", code, "entropy", tmp_path / "model.safetensors")
    assert "how uncertain a model is" in run(package, "-c", code, "entropy", "--help")
