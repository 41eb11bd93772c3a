# The verbs of this project; .ci/run calls `make check` and `make test`.

PYTHON ?= python3
VENV ?= .venv
VAULT ?= memory
QUESTIONS ?= ../shared/data/xquad/*.json
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup run all test check layers docs format bench clean

help:
	@echo "make run [VAULT=path]   serve a vault (./memory is made from the template if it is not there)"
	@echo "make test               run the tests"
	@echo "make check              format, lint, types, layers, docs"
	@echo "make all                both"
	@echo "make bench              print the numbers"
	@echo "make format             format the code"
	@echo "make clean              remove the virtual environment and caches"

setup: $(STAMP)

# `venv` without pip's own upgrade: one download less. The stamp makes a second `make` start at once.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "wikimem needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing wikimem and its tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

# A path, whatever it is called: without `./` a configured vault of that name would come first.
run: $(STAMP)
	@vault='$(VAULT)'; case "$$vault" in /*|./*|../*|"~"*) ;; *) vault="./$$vault" ;; esac; \
	  test -e "$$vault" || $(BIN)/wikimem init "$$vault" | sed -n 1p; \
	  exec $(BIN)/wikimem serve --vault "$$vault"

test: $(STAMP)
	@$(BIN)/python -m pytest

all: check test

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet tests/unit/test_layers.py tests/docs

layers: $(STAMP)
	$(BIN)/python -m pytest --quiet tests/unit/test_layers.py

docs: $(STAMP)
	$(BIN)/python -m pytest --quiet tests/docs

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What a change should not make worse, in a few minutes. The long ones (hours of load, kills, fuzz, 100,000 items) are
# run by hand: each script's `--help` says how.
bench: export PYTHONPATH := .:daemon
bench: $(STAMP)
	$(BIN)/python bench/commands.py
	$(BIN)/python bench/freshness.py save --items 1000 --files 200
	$(BIN)/python bench/latency.py --items 10000
	$(BIN)/python bench/freshness.py cold --items 10000
	$(BIN)/python bench/freshness.py burst --files 200
	$(BIN)/python bench/graph.py
	$(BIN)/python bench/parsing.py
	$(BIN)/python bench/vectors.py --items 1000 --dim 256 --edits 2
ifneq ($(wildcard $(QUESTIONS)),)
	$(BIN)/python bench/quality.py $(wildcard $(QUESTIONS))
else
	@echo "bench/quality.py: no question sets ($(QUESTIONS)); make bench QUESTIONS='files of the SQuAD form'"
endif

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
