"""Streams: true processes of which everything is known, and memories that follow them."""

from kullback.models.process._closed_class import closed_class, stationary_law
from kullback.models.process._entropy_rate import merge_beliefs
from kullback.models.process._finite_process import (
    FiniteProcess,
    even_process,
    golden_mean,
    nonunifilar,
    second_order,
)
from kullback.models.process._generative import FiniteGenerative, FinitePair
from kullback.models.process._mutable_process import MutableProcess
from kullback.models.process._spiking_memory import SpikingMemory
from kullback.models.process._tabular_memory import TabularMemory

__all__ = [
    "FiniteGenerative",
    "FinitePair",
    "FiniteProcess",
    "MutableProcess",
    "SpikingMemory",
    "TabularMemory",
    "closed_class",
    "even_process",
    "golden_mean",
    "merge_beliefs",
    "nonunifilar",
    "second_order",
    "stationary_law",
]
