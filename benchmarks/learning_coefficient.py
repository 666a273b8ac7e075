"""Chains for learning coefficients against devinterp 1.3.2: the same stochastic gradient Langevin steps, warm.

Reduced rank regression with 5 inputs, 3 hidden units and 5 outputs, 1,000 rows, gradients of 128 rows, 8 chains; both
in 32 bits, by time of the processor for 1,000 steps of a chain. devinterp goes chain after chain in Python. Without it
(`pip install devinterp==1.3.2 torch`) the line is left out with a message.
"""

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._timing import Row
from kullback.assess._langevin import draw_langevin

ROWS, INPUTS, HIDDEN, OUTPUTS, BATCH, CHAINS = 1000, 5, 3, 5, 128, 8
STEP, BETA = 5e-4, 1 / float(np.log(ROWS))
ROUNDS = 3


def rows(w: Any, data: Any) -> Any:
    """Return the log-likelihood of each row, up to a constant."""
    x, y = data
    first = w[: HIDDEN * INPUTS].reshape(HIDDEN, INPUTS)
    second = w[HIDDEN * INPUTS :].reshape(OUTPUTS, HIDDEN)
    return -0.5 * jnp.sum(jnp.square(y - x @ first.T @ second.T), axis=-1)


def prior(w: Any, data: Any) -> Any:
    """Return the log density of N(0, I)."""
    return -0.5 * jnp.sum(jnp.square(w))


def ours(x: np.ndarray, y: np.ndarray) -> tuple[Callable[[], Any], int]:
    """Return what makes the steps, and how many steps of a chain it makes."""
    draws, between = 100, 20
    starts = 0.1 * jax.random.normal(jax.random.key(1), (CHAINS, HIDDEN * (INPUTS + OUTPUTS)), jnp.float32)
    numbers = jnp.float32(STEP), jnp.asarray(between), jnp.float32(BETA)

    def steps() -> Any:
        return draw_langevin(
            jax.random.key(0),
            starts,
            *numbers,
            (x, y),
            np.ones(ROWS, np.float32),
            log_likelihoods=rows,
            log_prior=prior,
            draws=draws,
            batch_size=BATCH,
        )

    return steps, CHAINS * draws * between


def theirs(x: np.ndarray, y: np.ndarray) -> tuple[Callable[[], Any], int]:
    """Return the same of devinterp."""
    import torch
    from devinterp.optim.sgld import SGLD
    from devinterp.slt.llc import LLCEstimator
    from devinterp.slt.sampler import sample

    torch.set_num_threads(1)  # more of them wait for each other in products this small
    data = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True)
    model = torch.nn.Sequential(
        torch.nn.Linear(INPUTS, HIDDEN, bias=False), torch.nn.Linear(HIDDEN, OUTPUTS, bias=False)
    )
    draws = 100

    def evaluate(model: Any, batch: Any) -> Any:
        return 0.5 * torch.mean(torch.sum(torch.square(model(batch[0]) - batch[1]), dim=-1))

    def steps() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample(
                model,
                loader,
                callbacks=[LLCEstimator(CHAINS, draws, torch.tensor(0.0), nbeta=ROWS * BETA)],
                evaluate=evaluate,
                sampling_method=SGLD,
                optimizer_kwargs={"lr": STEP, "nbeta": ROWS * BETA, "localization": 1.0},
                num_draws=draws,
                num_chains=CHAINS,
                init_loss=0.0,
                verbose=False,
                seed=0,
            )

    return steps, CHAINS * draws


def per_thousand(steps: Callable[[], Any], count: int) -> float:
    """Return the processor's time of 1,000 steps of a chain."""
    start = time.process_time()
    jax.block_until_ready(steps())
    return (time.process_time() - start) * 1000 / count


def run(full: bool = False) -> Iterator[Row]:
    """Yield one line, or say why there is none."""
    if importlib.util.find_spec("devinterp") is None:
        print("learning coefficients: devinterp is not installed, so chains are not compared.", file=sys.stderr)
        return
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, INPUTS)).astype(np.float32)
    y = rng.normal(size=(ROWS, OUTPUTS)).astype(np.float32)
    both = theirs(x, y), ours(x, y)
    for steps, _ in both:
        jax.block_until_ready(steps())
    rounds = [[per_thousand(*each) for each in both] for _ in range(ROUNDS * (3 if full else 1))]
    peer, own = np.min(rounds, axis=0)
    ratio = float(np.median([a / b for a, b in rounds]))
    yield Row("SGLD, 1,000 steps of a chain, reduced rank 5-3-5, warm", "devinterp 1.3.2", peer, own, 20.0, ratio)


if __name__ == "__main__":
    for row in run("--full" in sys.argv):
        print(row)
