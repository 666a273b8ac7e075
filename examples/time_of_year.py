"""Which time of the year is it, given the temperature of the sea? An angle, given inputs.

The data are monthly temperatures of the Pacific off Peru from 1950 to 2010. The time of the year is an angle: December
is next to January. Its distribution given the temperature, and given how much it has changed since the month before, is
a von Mises distribution whose free coordinates κ·cos μ and κ·sin μ are linear. The temperature alone does not tell
spring from autumn; with the change it does, and the error falls from 1.7 to 0.7 months, on years that were not learned
from. The picture shows what is predicted where the sea warms and where it cools, with the months that came.
"""

import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import elnino

import kullback
from kullback.plots import panels, plot_sets, save

MONTHS = ["Jan", "Mar", "May", "Jul", "Sep", "Nov"]
CELLS = 240


def read():
    """Return temperatures and their changes, and the middle of each month as an angle."""
    table = elnino.load_pandas().data
    temperature = table.drop(columns="YEAR").to_numpy().ravel()
    angle = np.tile((np.arange(12) + 0.5) * np.pi / 6 - np.pi, len(table))
    change = np.diff(temperature)
    return np.stack([temperature[1:], change], axis=1), angle[1:]


def score(regressor, X, y):
    """Return nats per row, and the mean error in months."""
    error = np.angle(np.exp(1j * (regressor.predict(X) - y)))
    return regressor.score_samples(X, y).mean(), np.abs(error).mean() * 6 / np.pi


def levels(regressor, X):
    """Return angles, and how much the smallest set of each row holds that has each angle in it."""
    angles = np.linspace(-np.pi, np.pi, CELLS)
    predicted = regressor.predict_distribution(X)
    density = np.exp([predicted.log_prob(np.full(len(X), angle)) for angle in angles]).T
    order = np.argsort(-density, axis=1)
    held = np.cumsum(np.take_along_axis(density, order, axis=1), axis=1) * 2 * np.pi / CELLS
    found = np.empty_like(held)
    np.put_along_axis(found, order, held, axis=1)
    return angles, found


def draw():
    """Fit to three quarters of the years, score on the rest, and draw both kinds of months."""
    X, y = read()
    learned = np.arange(len(y)) < 45 * 12
    alone = kullback.Regressor("von_mises").fit(X[learned, :1], y[learned])
    both = kullback.Regressor("von_mises").fit(X[learned], y[learned])
    for name, regressor, columns in (("temperature", alone, 1), ("temperature and change", both, 2)):
        nats, months = score(regressor, X[~learned, :columns], y[~learned])
        print(f"{name:24} {nats:7.3f} nats per row, mean error {months:.2f} months")

    figure, axes = panels(columns=3, width=3.9, height=3.8)
    grid = np.linspace(X[:, 0].min(), X[:, 0].max(), 80)
    warms = X[:, 1] > 0
    for panel, title, change, rows in (
        (axes[0], "temperature alone", None, np.full(len(y), True)),
        (axes[1], "the sea warms, by 0.8 °C", 0.8, warms),
        (axes[2], "the sea cools, by 0.8 °C", -0.8, ~warms),
    ):
        regressor = alone if change is None else both
        inputs = grid[:, None] if change is None else np.stack([grid, np.full(len(grid), change)], axis=1)
        angles, found = levels(regressor, inputs)
        shown = rows & ~learned
        plot_sets(grid, angles, found, regressor.predict(inputs), (X[shown, 0], y[shown]), axes=panel)
        panel.set_title(title, fontsize=11, loc="left")
        panel.set(xlabel="temperature (°C)", ylim=(-np.pi, np.pi))
        panel.set_yticks((np.arange(0, 12, 2) + 0.5) * np.pi / 6 - np.pi, MONTHS)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "time_of_year")
    print(f"The picture is in {png} and {svg}")
