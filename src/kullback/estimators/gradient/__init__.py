"""Estimators whose models are trained by gradients: the base, and a file for each of them."""
