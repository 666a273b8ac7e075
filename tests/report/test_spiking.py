"""The raster of a page: what units remember is the same of rows that are given and of rows that are drawn."""

import equinox as eqx
import numpy as np

import kullback
from kullback.report._context import ReportContext
from kullback.report._spiking import Raster


def shift_register():
    """Return a network whose units hold the last row, the one before and the one before that, and expect a coin."""
    bits = np.random.default_rng(0).integers(2, size=(80, 1))
    network = kullback.SpikingNetwork(3, n_chains=2, random_state=0).fit(bits)
    memory = np.zeros((1, 6, 3), np.float32)  # from three units, two indicators and the bias
    memory[0, [4, 0, 1], [0, 1, 2]] = 40
    nothing = np.zeros_like(network.network_.prediction_weights)
    network.network_ = eqx.tree_at(
        lambda n: (n.memory_weights, n.expected_weights, n.prediction_weights),
        network.network_,
        (memory, memory, nothing),
    )
    return network


def test_the_lags_of_units_are_those_of_the_row_that_they_predict():
    network = shift_register()
    for rows in (None, np.random.default_rng(1).integers(2, size=(600, 1))):
        raster = Raster.of(ReportContext(network, rows))
        assert raster.lags.tolist() == [2, 3, 4]
        np.testing.assert_allclose(raster.correlations, 1, atol=1e-6)
        assert len(raster.stream) == len(raster.fired)
