# Everything sets itself up: Python 3.11, git and make are all that is assumed.

PYTHON ?= $(firstword $(shell command -v python3.11 python3))
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/installed

.PHONY: help demo test lint check bench format clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Installed again only when pyproject.toml changed. The editable install sees new files by itself.
$(READY): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)  ## ingest the sample traces and print their breakdowns
	$(BIN)/python sample_traces/demo.py

test: $(READY)  ## all tests that need neither torch nor a GPU
	$(BIN)/python -m pytest

lint: $(READY) links  ## formatting, ruff and mypy --strict
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

check: lint test  ## what must pass before a commit

format: $(READY)  ## format and fix what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)  ## time ingest against json.load, HTA and Perfetto
	$(BIN)/python benchmarks/ingest.py

# mypy does not know setuptools' package-dir: links show it the folders as one package.
.PHONY: links
links:
	@rm -rf build/lint && mkdir -p build/lint/tracekit
	@for f in tracekit/* collectors queries app; do ln -sfn "$(CURDIR)/$$f" build/lint/tracekit/; done

clean:  ## remove the environment and everything built
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
