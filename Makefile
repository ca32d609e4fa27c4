# Every target sets up what it needs; nothing has to be installed by hand but python3, venv and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

SUPPORTED := 3.11 3.12 3.13
PYTEST := -m pytest -n auto

.PHONY: demo test browser coverage fuzz test-lowest test-newest lint format hooks dist docs notebooks docs-draws links bench study reproduce examples clean
.DEFAULT_GOAL := demo

$(VENV)/.run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[parquet]'
	touch $@

$(VENV)/.test: $(VENV)/.run
	$(PIP) -e '.[test]'
	touch $@

$(VENV)/.dev: $(VENV)/.test
	$(PIP) -e '.[dev]'
	touch $@

$(VENV)/.examples: $(VENV)/.run
	$(PIP) -e '.[examples]'
	touch $@

$(VENV)/.docs: $(VENV)/.run
	$(PIP) -e '.[docs]'
	touch $@

$(VENV)/.bench: $(VENV)/.run
	$(PIP) -e '.[bench]'
	$(PIP) --no-deps copulae || echo "copulae does not install here: benchmarks/results.md will say so"  # its metadata asks for pandas 2
	touch $@

demo: $(VENV)/.run  ## what is wrong in a real posterior, in words and as a page, demo.html
	$(BIN)/copula-discrepancy demo --html demo.html --force

browser:  ## Debian's Chromium for the tests of the page, where it is missing and can be installed
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	&& apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium >/dev/null; } \
	|| echo "no Chromium here, and no way to install it: the tests of the page in a browser will be skipped"

test: $(VENV)/.test browser  ## the whole test suite, on every core
	$(BIN)/python $(PYTEST)

coverage: $(VENV)/.test browser  ## the same, and the share of branches it reaches; below the floor in pyproject.toml it fails
	$(BIN)/python $(PYTEST) --cov --cov-report=term

fuzz: $(VENV)/.test  ## 100,000 hostile inputs to every public function and every reader of files
	$(BIN)/python -m tests.fuzzing --inputs 100000 --seed 1

# A folder of its own for compiled kernels: another numba would take turns with this one at replacing them. Old releases are full
# of what later became deprecated, which says nothing about this library.
test-lowest: browser  ## the tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m tests.lowest_versions > $(VENV)-lowest/lowest.txt
	$(VENV)-lowest/bin/python -m pip install --quiet -e '.[test]' -c $(VENV)-lowest/lowest.txt
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-lowest/numba $(VENV)-lowest/bin/python $(PYTEST) \
	-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

test-newest: $(SUPPORTED:%=newest-%)  ## the tests with the newest versions, on every Python that is here

newest-%: browser
	@python=$$(for found in python$* $(HOME)/.pyenv/versions/$*.*/bin/python; do \
	"$$found" -c "" 2>/dev/null && echo "$$found" && break; done); \
	if [ -z "$$python" ]; then echo "Python $* is not on this machine: nothing was tested with it"; exit 0; fi; \
	set -ex; "$$python" -m venv $(VENV)-$*; \
	$(VENV)-$*/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager -e '.[test]'; \
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-$*/numba $(VENV)-$*/bin/python $(PYTEST)

lint: $(VENV)/.test  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(VENV)/.dev  ## the same checks before every commit
	$(BIN)/pre-commit install

dist: $(VENV)/.dev  ## source distribution and wheel, checked; the wheel installed into an empty environment and used there
	rm -rf dist build/empty
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/empty && bin/copula-discrepancy demo --html demo.html --force && \
	bin/python -c "import copula_discrepancy as cd; assert 'site-packages' in cd.__file__; print(cd.__version__, 'works from its wheel')"

docs: $(VENV)/.docs  ## the site, in docs/_build/html: all its code runs, warnings are errors, its own links are checked
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet -j auto -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html
	@echo "open docs/_build/html/index.html"

notebooks: $(VENV)/.docs  ## the gallery's notebooks run, their outputs kept in them
	$(BIN)/python docs/execute_notebooks.py

# In an environment of its own: PyMC asks for an older numba.
docs-draws:  ## the draws that pages and a notebook judge, made anew by PyMC, NumPyro and BlackJAX
	$(PYTHON) -m venv $(VENV)-samplers
	$(VENV)-samplers/bin/python -m pip install --quiet --disable-pip-version-check -e '.[samplers]'
	set -e; for script in docs/draws/make_*.py; do \
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-samplers/numba $(VENV)-samplers/bin/python $$script; done

links: $(VENV)/.docs  ## the site's links to other sites, which takes a network
	$(BIN)/python -m sphinx -D nb_execution_mode=off -b linkcheck docs docs/_build/links

bench: $(VENV)/.bench  ## speed, growth, memory and accuracy beside peers, in one run: benchmarks/results.md, its picture, README
	$(BIN)/python -m benchmarks.core --write benchmarks/results.md
	$(BIN)/python -m benchmarks.readme

reproduce: $(VENV)/.run  ## the paper's experiments again, beside the published numbers; what git keeps is benchmarks/reproduction
	$(BIN)/copula-discrepancy reproduce all --out reproduction
	mkdir -p benchmarks/reproduction/figures
	cp reproduction/report.md benchmarks/reproduction/report.md
	cp reproduction/figures/*.png benchmarks/reproduction/figures/

examples: $(VENV)/.examples  ## a step-size study with the built-in SGLD, and one with BlackJAX's
	$(BIN)/python examples/step_size_study.py
	$(BIN)/python examples/blackjax_sgld.py

study: $(VENV)/.bench  ## size, coverage, power and cost of the tests, in benchmarks/inference.md, pairs.md and honest.md
	$(BIN)/python -m benchmarks.inference --write benchmarks/inference.md
	$(BIN)/python -m benchmarks.pairs --write benchmarks/pairs.md
	$(BIN)/python -m benchmarks.honest --write benchmarks/honest.md

clean:
	rm -rf $(VENV) $(VENV)-* build dist docs/_build docs/jupyter_execute docs/api/generated .coverage demo.html demo.json .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
