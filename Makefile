# Everything runs in a virtual environment inside the checkout; the first target that needs it makes it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# hundreds of tests start a process: what they import is compiled once
unexport PYTHONDONTWRITEBYTECODE

# how much `make fuzz` tries, and where its chance begins
FILES ?= 20000
MINUTES ?= 40
TABLES ?= 2000
SEED ?= 0

.PHONY: demo test test-slow test-all fuzz lint bench clean

demo: $(VENV)/.plain  ## three sites learn online, their models are combined and compared, and a page shows it
	$(BIN)/python examples/three_sites.py

test: $(VENV)/.dev  ## the quick tests and docstring examples; a ledger of time and memory by room
	$(BIN)/python -m pytest

test-slow: $(VENV)/.dev  ## the tests that are marked as slow, with all examples: those that begin before END_BY, where it is given
	$(BIN)/python -m pytest -m slow --durations=40 --durations-min=5

test-all: test test-slow  ## all tests

fuzz: $(VENV)/.dev  ## damaged files of every kind, fits that are killed, adversarial tables: FILES=… MINUTES=… SEED=…
	PYTHONPATH=tests $(BIN)/python -m fuzz run --files $(FILES) --minutes $(MINUTES) --seed $(SEED)
	PYTHONPATH=tests $(BIN)/python -m fuzz kills --seed $(SEED)
	PYTHONPATH=tests $(BIN)/python -m fuzz tables --number $(TABLES) --seed $(SEED)

lint: $(VENV)/.dev  ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench  ## one table of speed ratios to other libraries
	$(BIN)/python -m benchmarks

clean:  ## remove the environment and all caches
	rm -rf $(VENV) .jax_cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.plain: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.plain

$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[bench]'
	touch $@ $(VENV)/.plain
