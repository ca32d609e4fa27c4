# Every target sets up what it needs; nothing has to be installed by hand but python3, venv and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test browser lint format bench study reproduce examples clean
.DEFAULT_GOAL := demo

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[parquet]'
	touch $@

$(VENV)/.test: $(VENV)/.run
	$(PIP) -e '.[test]'
	touch $@

$(VENV)/.examples: $(VENV)/.run
	$(PIP) -e '.[examples]'
	touch $@

$(VENV)/.bench: $(VENV)/.run
	$(PIP) -e '.[bench]'
	touch $@

demo: $(VENV)/.run  ## what is wrong in a real posterior, in words and as a page, demo.html
	$(BIN)/copula-discrepancy demo --html demo.html --force

browser:  ## Debian's Chromium for the tests of the page, where it is missing and can be installed
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	&& apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium >/dev/null; } \
	|| echo "no Chromium here, and no way to install it: the tests of the page in a browser will be skipped"

test: $(VENV)/.test browser  ## the whole test suite, on every core
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.test  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench  ## speed and accuracy against peers, as ratios of one run, in benchmarks/results.md
	$(BIN)/python -m benchmarks.core --write benchmarks/results.md

reproduce: $(VENV)/.run  ## the paper's experiments again, beside the published numbers; what git keeps is benchmarks/reproduction
	$(BIN)/copula-discrepancy reproduce all --out reproduction
	mkdir -p benchmarks/reproduction/figures
	cp reproduction/report.md benchmarks/reproduction/report.md
	cp reproduction/figures/*.png benchmarks/reproduction/figures/

examples: $(VENV)/.examples  ## a step-size study with the built-in SGLD, and one with BlackJAX's
	$(BIN)/python examples/step_size_study.py
	$(BIN)/python examples/blackjax_sgld.py

study: $(VENV)/.bench  ## size, coverage, power and cost of the tests, in benchmarks/inference.md and benchmarks/pairs.md
	$(BIN)/python -m benchmarks.inference --write benchmarks/inference.md
	$(BIN)/python -m benchmarks.pairs --write benchmarks/pairs.md

clean:
	rm -rf $(VENV) build dist demo.html demo.json .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
