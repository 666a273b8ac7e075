"""Energies without a constant, and samplers that are trained to draw from them."""

from kullback.models.energy_sampler._model import EnergySampler
from kullback.models.energy_sampler._networks import (
    AutoencoderEnergy,
    GivenEnergy,
    Perceptron,
    PerceptronEnergy,
    Sampler,
)

__all__ = ["AutoencoderEnergy", "EnergySampler", "GivenEnergy", "Perceptron", "PerceptronEnergy", "Sampler"]
