"""Boltzmann machines: laws e^(−energy) of binary units, whose constant has no closed form."""

from kullback.models.boltzmann._machine import RestrictedBoltzmannMachine

__all__ = ["RestrictedBoltzmannMachine"]
