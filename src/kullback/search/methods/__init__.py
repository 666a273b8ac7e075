"""Searches over real coordinates, a file for each."""
