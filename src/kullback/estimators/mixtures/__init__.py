"""Mixtures behind scikit-learn's door."""
