# Every target does its own set-up: nothing is needed but make and Python >= 3.11.
# PYTHON=/path/to/python3 chooses the Python; ARGS="..." is passed on.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-fast test-interpreted lint bench clean

RUN := .venv/bin/python -m
PYTEST := $(RUN) pytest -n auto --maxprocesses 8 --dist worksteal

export PYTHON

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-18s%s\n", $$1, $$2}' Makefile

demo: .venv/.installed-app ## fit, certify and compare on two small data sets
	.venv/bin/widemargin demo $(ARGS)

# Doctests of the package and the README are among them: see pyproject.toml.
test: test-interpreted ## all tests, below 10 minutes on two cores
	$(PYTEST) $(ARGS)

test-fast: .venv/.installed-test ## the tests for every commit, below 90 seconds
	$(PYTEST) -m "not slow" $(ARGS)

# Without the compiler a wrong index is an error and not a crash.
test-interpreted: .venv/.installed-test ## the tests marked so, without the compiler
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m interpreted $(ARGS)

lint: .venv/.installed-test ## format, lint and types
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

bench: .venv/.installed-bench ## measure against the peers; minutes, wants an idle machine
	$(RUN) benchmarks $(ARGS)

clean: ## remove all that was made here, .venv included
	rm -rf .venv .numba_cache .pytest_cache .mypy_cache .ruff_cache build dist
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/.installed-%: pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh $*
