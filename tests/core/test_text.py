"""Models in print: numbers, lengths, what is traced, and nothing of a name that a page would obey."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback import families, models
from kullback.core import Estimate, Model
from kullback.families import Gaussian, Ising, Multinomial, Poisson, Product
from kullback.models import HiddenMarkovModel, Mixture

NAMES = {name: getattr(room, name) for room in (families, models) for name in room.__all__} | {"array": np.array}


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (Poisson(3.0), "Poisson(rate=3)"),
        (Poisson(jnp.array(0.1, jnp.float32)), "Poisson(rate=0.1)"),
        (Poisson(1 / 3), "Poisson(rate=0.333333)"),
        (Poisson([1e-9, 1e9]), "Poisson(rate=[1e-09, 1e+09])"),
        (Gaussian([0.0, 1.0], [[2.0, 0.3], [0.3, 1.0]]), "Gaussian(mean=[0, 1], covariance=[[2, 0.3], [0.3, 1]])"),
        (Multinomial(3, [0.5, 0.5]), "Multinomial(trials=3, probabilities=[0.5, 0.5])"),
        (Ising([0.0, 1.0], [0.5]), "Ising(biases=[0, 1], couplings=[0.5], interactions=((0, 1),))"),
        (Product([Poisson(1.0), Poisson(2.0)]), "Product(parts=[Poisson(rate=1), Poisson(rate=2)])"),
        (Mixture([0.5, 0.5], Poisson([1.0, 9.0])), "Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1, 9]))"),
    ],
)
def test_one_line_that_python_understands(member, text):
    assert repr(member) == text
    assert repr(eval(text, NAMES)) == text  # names of this package, and numbers


def test_what_is_long_has_lines_of_its_own():
    chain = HiddenMarkovModel(
        [0.5, 0.5], np.full((2, 2), 0.5), Gaussian(np.zeros((2, 3)), np.tile(np.eye(3), (2, 1, 1)))
    )
    lines = repr(chain).split("\n")
    assert lines[0] == "HiddenMarkovModel("
    assert "    emissions=Gaussian(" in lines
    assert "        mean=[[0, 0, 0], [0, 0, 0]]," in lines
    assert max(map(len, lines)) <= 100
    assert repr(eval(repr(chain), NAMES)) == repr(chain)


def test_the_middle_of_long_arrays_is_left_out():
    assert repr(Poisson(np.arange(1.0, 101.0))) == "Poisson(rate=array([1, 2, 3, ..., 98, 99, 100], shape=(100,)))"
    wide = repr(Gaussian(np.zeros(400), np.eye(400)))
    assert "shape=(400, 400)" in wide
    assert len(wide) < 1000


def test_what_is_traced_or_has_no_numbers_shows_its_shape():
    seen = []
    jax.jit(lambda p: seen.append(repr(p)))(Poisson(jnp.ones(3)))
    jax.vmap(lambda p: (seen.append(repr(p)), p)[1])(Poisson(jnp.ones(3)))
    seen.append(repr(jax.eval_shape(lambda: Poisson(jnp.ones(3)))))
    gone = Poisson(jnp.ones(3))
    gone.rate.delete()
    seen.append(repr(gone))
    bits = "f64" if jax.config.read("jax_enable_x64") else "f32"
    assert seen == [f"Poisson(rate={bits}[{n}])" for n in ("3", "", "3", "3")]
    assert "[3]" in jax.eval_shape(lambda: Poisson(jnp.ones(3)))._repr_html_()


def test_estimates_print_two_numbers():
    assert repr(Estimate(jnp.array(0.25), jnp.array(1e-3))) == "Estimate(value=0.25, standard_error=0.001)"


def test_a_table_for_a_notebook():
    page = Product([Gaussian([0.5], [[2.25]]), Poisson(7.0)])._repr_html_()
    for number in ("0.5", "2.25", "7"):
        assert f">{number}<" in page
    assert page.count("<table") == page.count("</table>") >= 3


class Hostile(Model):
    """A model whose field holds text that a page would obey."""

    label: str = eqx.field(static=True)
    energy = posterior = sample = impute = estimate_log_likelihood = None


def test_text_is_escaped():
    page = Hostile("<script>alert(1)</script>")._repr_html_()
    assert "<script" not in page
    assert "&lt;script" in page
