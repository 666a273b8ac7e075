"""Estimators of a distribution of targets given inputs."""
