"""Helmholtz machines: layers of binary units, with a network that generates and one that recognizes."""

from kullback.models.helmholtz._machine import HelmholtzMachine, Recognition

__all__ = ["HelmholtzMachine", "Recognition"]
