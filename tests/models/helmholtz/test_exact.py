"""What all states of a small machine say: likelihoods, and Fisher matrices against scores and Hessians."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import block_diag

from contracts.quick import quick
from kullback.core import Batch
from kullback.models import HelmholtzMachine
from kullback.models.helmholtz import _exact
from models.helmholtz.small_machine import HIDDEN, VISIBLE, joint_table, random_machine, recognition_table
from tiers import slow

MACHINE = random_machine(1)
JOINT, GUESS = joint_table(MACHINE), recognition_table(MACHINE)
PAIRS = np.repeat(VISIBLE, len(HIDDEN), axis=0), np.tile(HIDDEN, (len(VISIBLE), 1))
DATA = np.random.default_rng(0).dirichlet(np.ones(len(VISIBLE)))


def generation_of(vector):
    """Return the machine with these parameters of the generation network, matrices column by column, then the top."""
    sizes = [weights.size for weights in MACHINE.generation]
    parts = jnp.split(vector, np.cumsum(sizes))
    shapes = [weights.shape for weights in MACHINE.generation]
    matrices = [part.reshape(shape[::-1]).T for part, shape in zip(parts[:-1], shapes, strict=True)]
    return HelmholtzMachine(matrices, parts[-1], MACHINE.recognition)


def recognition_of(vector):
    parts = jnp.split(vector, np.cumsum([weights.size for weights in MACHINE.recognition])[:-1])
    shapes = [weights.shape for weights in MACHINE.recognition]
    matrices = [part.reshape(shape[::-1]).T for part, shape in zip(parts, shapes, strict=True)]
    return HelmholtzMachine(MACHINE.generation, MACHINE.top, matrices)


GENERATION = np.concatenate([*(np.ravel(weights.T) for weights in MACHINE.generation), MACHINE.top])
RECOGNITION = np.concatenate([np.ravel(weights.T) for weights in MACHINE.recognition])


def test_the_gradient_of_the_likelihood_is_that_of_the_joint_under_the_posterior():
    """Fisher's identity: autodiff through the sum over states, against the mean over the posterior."""

    @quick
    def both(vector):
        whole = jax.grad(lambda x: DATA @ generation_of(x).log_likelihood(Batch(VISIBLE)))(vector)
        share = (DATA[:, None] * JOINT / JOINT.sum(axis=1, keepdims=True)).ravel()
        return whole, jax.grad(lambda x: share @ generation_of(x).log_prob(*PAIRS))(vector)

    np.testing.assert_allclose(*both(GENERATION), atol=1e-12)


def assert_blocks(blocks, scores, hessian, law):
    expected = np.einsum("s,sa,sb->ab", law, scores, scores)
    found = block_diag(*(unit for layer in blocks for unit in np.asarray(layer)))
    np.testing.assert_allclose(found, expected, atol=1e-12)  # zero outside of the blocks too
    np.testing.assert_allclose(-np.asarray(hessian), expected, atol=1e-12)


def test_the_fisher_matrix_of_generation_has_a_block_for_each_unit():
    @quick
    def answers(vector):
        def log_prob(x):
            return generation_of(x).log_prob(*PAIRS)

        hessian = jax.hessian(lambda x: JOINT.ravel() @ log_prob(x))(vector)
        marginal = jax.jacobian(lambda x: generation_of(x).log_likelihood(Batch(VISIBLE)))(vector)
        return generation_of(vector).fisher("generation"), jax.jacobian(log_prob)(vector), hessian, marginal

    blocks, scores, hessian, marginal = jax.tree.map(np.asarray, answers(GENERATION))
    assert [layer.shape for layer in blocks] == [(4, 4, 4), (3, 3, 3), (2, 1, 1)]
    assert_blocks(blocks, scores, hessian, JOINT.ravel())
    # what is visible says less than the joint, and of 27 parameters not more than 15 things
    joint = np.einsum("s,sa,sb->ab", JOINT.ravel(), scores, scores)
    lost = joint - np.einsum("s,sa,sb->ab", JOINT.sum(axis=1), marginal, marginal)
    assert np.linalg.eigvalsh(lost).min() > -1e-10
    assert np.linalg.matrix_rank(joint) == 27
    assert np.linalg.matrix_rank(joint - lost, tol=1e-10) == 15


def test_the_fisher_matrix_of_recognition_has_a_block_for_each_unit():
    rows = VISIBLE[np.random.default_rng(1).integers(0, 16, 30)]
    share = (np.bincount((rows @ [8, 4, 2, 1]).astype(int), minlength=16) / 30)[:, None] * GUESS

    @quick
    def answers(vector):
        def log_prob(x):
            return recognition_of(x).recognition_log_prob(*PAIRS)

        hessian = jax.hessian(lambda x: share.ravel() @ log_prob(x))(vector)
        return recognition_of(vector).fisher("recognition", rows), jax.jacobian(log_prob)(vector), hessian

    blocks, scores, hessian = jax.tree.map(np.asarray, answers(RECOGNITION))
    assert [layer.shape for layer in blocks] == [(3, 5, 5), (2, 4, 4)]
    assert_blocks(blocks, scores, hessian, share.ravel())


def test_it_is_the_curvature_of_relative_entropy():
    """KL(p_θ ‖ p_θ+δ) of the joint, by enumeration, is ½ δᵀFδ up to the cube of δ."""
    direction = np.random.default_rng(3).normal(size=len(GENERATION))

    @quick
    def answers(vector, sizes):
        blocks = generation_of(vector).fisher("generation")
        log_prob = generation_of(vector).log_prob(*PAIRS)

        def apart(size):
            return JOINT.ravel() @ (log_prob - generation_of(vector + size * direction).log_prob(*PAIRS))

        return blocks, jax.vmap(apart)(sizes)

    sizes = 2.0 ** -np.arange(4, 9)
    blocks, apart = jax.tree.map(np.asarray, answers(GENERATION, sizes))
    fisher = block_diag(*(unit for layer in blocks for unit in layer))
    expected = sizes**2 / 2 * (direction @ fisher @ direction)
    rest = (apart - expected) / sizes**3
    assert np.all(np.abs(rest) < 0.02)
    # once more: what the cube leaves is a fourth power, so that the rest is affine in the size
    np.testing.assert_allclose(np.diff(rest) / np.diff(sizes), np.polyfit(sizes[2:], rest[2:], 1)[0], rtol=0.1)


@pytest.mark.parametrize("numbers", [8 * 16, slow(2**24)])
def test_blocks_of_states_make_no_difference(numbers, monkeypatch):
    """Seven hidden units, so few states at a time that there are 16 blocks of them."""
    monkeypatch.setattr(_exact, "_AT_ONCE", numbers)
    machine = random_machine(4, (4, 5, 2))
    rows = VISIBLE[[0, 3, 3, 9, 14, 15, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12]]

    @jax.jit
    def answers(machine):
        return machine.log_likelihood(Batch(rows)), machine.fisher("generation"), machine.fisher("recognition", rows)

    likelihood, generation, recognition = jax.tree.map(np.asarray, answers(machine))
    table = joint_table(machine)
    numbers = (rows @ [8, 4, 2, 1]).astype(int)
    np.testing.assert_allclose(likelihood, np.log(table.sum(axis=1))[numbers], rtol=1e-12)
    for blocks, entries in ((generation, slice(0, 2)), (recognition, slice(0, 1))):
        for layer in blocks[entries]:
            assert np.all(np.linalg.eigvalsh(layer) > 0)
    hidden = np.array(np.meshgrid(*[[0, 1]] * 7, indexing="ij")).reshape(7, -1).T
    above = np.concatenate([hidden[:, :5], np.ones((len(hidden), 1))], axis=1)
    odds = above @ machine.generation[0]
    expected = np.einsum("s,sj,sa,sb->jab", table.sum(axis=0), 1 / (2 + 2 * np.cosh(odds)), above, above)
    np.testing.assert_allclose(generation[0], expected, rtol=1e-10, atol=1e-14)
    share = recognition_table(machine)[numbers].mean(axis=0)
    odds = above @ machine.recognition[1]
    expected = np.einsum("s,sj,sa,sb->jab", share, 1 / (2 + 2 * np.cosh(odds)), above, above)
    np.testing.assert_allclose(recognition[1], expected, rtol=1e-10, atol=1e-14)


def test_what_is_too_large_or_not_there_is_refused_in_a_sentence():
    large = random_machine(0, (3, 15, 6))
    with pytest.raises(ValueError, match="has 21 hidden units: up to 20 are summed out"):
        large.log_likelihood(Batch(np.zeros((1, 3))))
    for arguments in (("top",), ("recognition",)):
        with pytest.raises(ValueError, match="ask for 'generation', or for 'recognition' with rows v"):
            MACHINE.fisher(*arguments)
