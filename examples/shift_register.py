"""A network that learns, online, to hold the last eight rows of a stream: a shift register appears among its units.

The stream is x' = the value eight rows before, flipped with probability 0.1: to predict it takes 128 memory states.
Nobody told the network of registers, and nothing is differentiated through time; 200,000 rows are enough. Above, the
units before and after, in the order of the lag that they remember; units that fire at 0 are shown the other way round.
Below, how new each row is, −log p in nats over 20 rows, while the network goes on learning: 40 bits from a coin (gray)
stand out, though they look the same.
"""

import sys
from pathlib import Path

import numpy as np

import kullback
from kullback.plots import COLORS, panels, plot_raster, save, unit_lags

LAG, ROWS, SHOWN, BURST, BURSTS = 8, 200_000, 90, 40, 10


def stream(rows, rng):
    """Return a copy of itself at a lag, flipped now and then."""
    x, flipped = (rng.random(rows) < 0.5).astype(int), rng.random(rows) < 0.1
    for t in range(LAG, rows):
        x[t] = x[t - LAG] ^ flipped[t]
    return x


def disturbed(x, rng):
    """Return a stream with bits of a coin in it, and where they are."""
    found, marks = x.copy(), np.zeros(len(x), bool)
    for begin in np.linspace(0, len(x), BURSTS + 1).astype(int)[1:] - 2 * BURST:
        marks[begin : begin + BURST] = True
    found[marks] = rng.random(marks.sum()) < 0.5
    return found, marks


def units(network, x, axes, title):
    """Draw the units of a network along the end of a stream."""
    fired = network.score_next(x[:, None]).states[:-1]  # before each row but the first
    lags, how = unit_lags(fired, x[1:], most=12)
    fired = np.where(how < 0, 1 - fired, fired)  # those that fire at 0 are shown the other way round
    plot_raster(fired[-SHOWN:], x[-SHOWN:], lags, axes)
    axes.set_title(
        f"{title}: {np.sum((np.abs(how) > 0.5) & (lags > 2))} of {len(lags)} units hold a row that is gone", loc="left"
    )


def draw():
    """Learn, and draw the units before and after, and the novelty of bursts."""
    rng = np.random.default_rng(0)
    x, held = stream(ROWS, rng), stream(4_000, rng)
    network = kullback.SpikingNetwork(n_units=24, random_state=0)
    network.partial_fit(x[:200, None], continues=True)
    figure, axes = panels(3, width=10.0, height=2.9)
    units(network, held, axes[0], "After 200 rows")
    for piece in np.array_split(x[200:, None], 4):
        network.partial_fit(piece, continues=True)
    units(network, held, axes[1], f"After {ROWS:,} rows")

    news, marks = disturbed(stream(8_000, rng), rng)
    network.end_series()
    novelty = np.convolve(network.novelty(news[:, None]), np.full(20, 1 / 20), "same")
    for begin in np.flatnonzero(np.diff(marks.astype(int)) == 1):
        axes[2].axvspan(begin + 1, begin + 1 + BURST, color="0.75", linewidth=0)
    axes[2].plot(novelty, color=COLORS["vermilion"], linewidth=1.0)
    axes[2].set(xlim=(0, len(news)), ylim=(0, None), xlabel="row", ylabel="novelty (nats)")
    ranks = novelty[100:].argsort().argsort()[marks[100:]]
    area = (ranks.mean() - (marks.sum() - 1) / 2) / np.sum(~marks[100:])
    axes[2].set_title(f"Novelty of random bits: area under the curve {area:.2f}", loc="left")
    nats = -network.score(held[:, None]) / (len(held) - 1)
    print(f"{nats:.3f} nats per row, {-(0.1 * np.log(0.1) + 0.9 * np.log(0.9)):.3f} if all is known")
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "shift_register")
    print(f"The picture is in {png} and {svg}")
