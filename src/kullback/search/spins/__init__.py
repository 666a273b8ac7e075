"""Searches over points of −1 and +1, and the domain in which they run."""
