"""Hidden-variable models learned by minimizing relative entropy."""

__version__ = "0.1.0"
