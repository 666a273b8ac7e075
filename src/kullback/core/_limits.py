"""Sizes that more than one room agrees on."""

#: How many categories a column may have: what has more is no column of categories.
MOST_CATEGORIES = 10_000
