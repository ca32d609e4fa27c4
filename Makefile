# Every target installs what it needs into .venv; only python3, venv and make must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

SUPPORTED := 3.11 3.12 3.13
PYTEST := -m pytest -n auto

.PHONY: demo test test-all browser coverage fuzz test-lowest test-newest lint format hooks dist docs notebooks docs-draws links bench bench-large bench-watch bench-gpu study test-engines test-arviz test-samplers test-sdmetrics tables-study reproduce examples clean
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

$(VENV)/.dist: $(VENV)/.run
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
	$(PIP) --no-deps copulae || echo "copulae cannot be installed here; benchmarks/results.md will say so"  # its metadata requires pandas 2
	touch $@

$(VENV)/.gpu: $(VENV)/.bench
	$(PIP) -e '.[gpu]'
	touch $@

demo: $(VENV)/.run  ## compare two runs of a real posterior and write a page, demo.html
	$(BIN)/copula-discrepancy demo --html demo.html --force

browser:  ## install Debian's Chromium for the tests of the page, if it is missing
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	&& apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends chromium >/dev/null; } \
	|| echo "Chromium is missing and cannot be installed: the tests of the page in a browser will be skipped"

test: $(VENV)/.test browser  ## run the tests that are not slow, or all those in TESTS, on every core
	$(BIN)/python $(PYTEST) $(or $(TESTS),-m "not slow")

test-all: $(VENV)/.test browser  ## run all tests, slow ones too
	$(BIN)/python $(PYTEST)

coverage: $(VENV)/.test browser  ## run all tests and measure branch coverage, which must reach the minimum in pyproject.toml
	$(BIN)/python $(PYTEST) --cov --cov-report=term

fuzz: $(VENV)/.test  ## pass 100,000 invalid or extreme inputs to every public function and file reader
	$(BIN)/python -m tests.fuzzing --inputs 100000 --seed 1

# With their own cache of compiled kernels: two versions of numba would keep replacing each other's. Deprecations are ignored,
# because old releases use much that was deprecated later.
test-lowest: browser  ## run the tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m tests.lowest_versions > $(VENV)-lowest/lowest.txt
	$(VENV)-lowest/bin/python -m pip install --quiet -e '.[test]' -c $(VENV)-lowest/lowest.txt
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-lowest/numba $(VENV)-lowest/bin/python $(PYTEST) \
	-W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

test-newest: $(SUPPORTED:%=newest-%)  ## run the tests with the newest versions, on every installed Python

newest-%: browser
	@python=$$(for found in python$* $(HOME)/.pyenv/versions/$*.*/bin/python; do \
	"$$found" -c "" 2>/dev/null && echo "$$found" && break; done); \
	if [ -z "$$python" ]; then echo "Python $* is not installed: skipped"; exit 0; fi; \
	set -ex; "$$python" -m venv $(VENV)-$*; \
	$(VENV)-$*/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager -e '.[test]'; \
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-$*/numba $(VENV)-$*/bin/python $(PYTEST)

lint: $(VENV)/.test  ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test  ## fix style where that is automatic
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(VENV)/.dev  ## install the pre-commit hooks
	$(BIN)/pre-commit install

dist: $(VENV)/.dist  ## build source distribution and wheel, check both, and try the wheel in an empty environment
	rm -rf dist build/empty
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tests.distribution dist
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/empty && bin/copula-discrepancy demo --html demo.html --force && \
	bin/python -c "import copula_discrepancy as cd; assert 'site-packages' in cd.__file__; print(cd.__version__, 'works from its wheel')"

docs: $(VENV)/.docs browser  ## build the site in docs/_build/html, run its code, check its internal links and its formulas; warnings are errors
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet -j auto -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html
	$(BIN)/python docs/check_formulas.py docs/_build/html
	@echo "open docs/_build/html/index.html"

notebooks: $(VENV)/.docs  ## run the notebooks of the gallery and store their outputs
	$(BIN)/python docs/execute_notebooks.py

# In a separate environment: PyMC requires an older numba.
docs-draws:  ## sample the draws used in the documentation again, with PyMC, NumPyro and BlackJAX
	$(PYTHON) -m venv $(VENV)-samplers
	$(VENV)-samplers/bin/python -m pip install --quiet --disable-pip-version-check -e '.[samplers]'
	set -e; for script in docs/draws/make_*.py; do \
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-samplers/numba $(VENV)-samplers/bin/python $$script; done

links: $(VENV)/.docs  ## check the site's external links; needs a network
	$(BIN)/python -m sphinx -D nb_execution_mode=off -b linkcheck docs docs/_build/links

bench: $(VENV)/.bench  ## measure speed, scaling, memory and accuracy against other libraries; updates benchmarks/results.md, its figure and README
	$(BIN)/python -m benchmarks.core --write benchmarks/results.md
	$(BIN)/python -m benchmarks.readme

reproduce: $(VENV)/.run  ## repeat the paper's experiments; updates benchmarks/reproduction
	$(BIN)/copula-discrepancy reproduce all --out reproduction
	mkdir -p benchmarks/reproduction/figures
	cp reproduction/report.md benchmarks/reproduction/report.md
	cp reproduction/figures/*.png benchmarks/reproduction/figures/

examples: $(VENV)/.examples  ## run step-size studies with the built-in SGLD and with BlackJAX's
	$(BIN)/python examples/step_size_study.py
	$(BIN)/python examples/blackjax_sgld.py

study: $(VENV)/.bench  ## measure size, coverage, power and cost of the tests; updates benchmarks/inference.md, pairs.md, honest.md, form.md, consequence.md and kinds.md
	$(BIN)/python -m benchmarks.inference --write benchmarks/inference.md
	$(BIN)/python -m benchmarks.pairs --write benchmarks/pairs.md
	$(BIN)/python -m benchmarks.honest --write benchmarks/honest.md
	$(BIN)/python -m benchmarks.consequence --write benchmarks/consequence.md
	$(BIN)/python -m benchmarks.kinds --write benchmarks/kinds.md
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.form --write benchmarks/form.md  # one core each: times are compared

bench-large: $(VENV)/.test  ## measure tables larger than memory (needs 10 GB of disk); updates benchmarks/streaming.md and streaming.json
	$(BIN)/python -m benchmarks.streaming --write benchmarks/streaming.md

bench-watch: $(VENV)/.test  ## measure what watching a run costs, and how old its answers are; updates benchmarks/watching.md
	$(BIN)/python -m benchmarks.watching --write benchmarks/watching.md

bench-gpu: $(VENV)/.gpu  ## measure what a graphics processor saves, and how far its numbers differ; updates benchmarks/gpu.md and README; without one, it says so
	$(BIN)/python -m benchmarks.gpu --write benchmarks/gpu.md
	$(BIN)/python -m benchmarks.readme

# In an environment of its own: Ray and Spark are large, and Spark needs Java.
test-engines:  ## test scans on Ray and Spark
	$(PYTHON) -m venv $(VENV)-engines
	$(VENV)-engines/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,engines]'
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-engines/numba $(VENV)-engines/bin/python $(PYTEST) \
	tests/estimate/test_scanning_ray.py tests/estimate/test_scanning_spark.py

# In environments of their own: arviz-plots needs arviz 1 and Python 3.12, or on Python 3.11 a matplotlib older than that of the
# test extra, which has arviz < 1, with InferenceData.
WITH_ARVIZ := plotly bokeh webcolors 'zarr>=3' 'pytest>=8.2' 'pytest-xdist>=3.6' 'hypothesis>=6.100'

test-arviz: $(SUPPORTED:%=arviz-%)  ## test the accessor, groups, divergences and plots with arviz-plots: arviz < 1 on Python 3.11, 1 or newer on others

arviz-%:
	@python=$$(for found in python$* $(HOME)/.pyenv/versions/$*.*/bin/python; do \
	"$$found" -c "" 2>/dev/null && echo "$$found" && break; done); \
	if [ -z "$$python" ]; then echo "Python $* is not installed: skipped"; exit 0; fi; \
	set -ex; "$$python" -m venv $(VENV)-arviz-$*; \
	$(VENV)-arviz-$*/bin/python -m pip install --quiet --disable-pip-version-check -e '.[arviz,parquet,vine,dask]' \
	'arviz$(if $(filter 3.11,$*),<1,>=1)' $(WITH_ARVIZ); \
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-arviz-$*/numba $(VENV)-arviz-$*/bin/python $(PYTEST) tests/core/test_when_imported.py \
	tests/data/test_divergences.py tests/estimate/test_rotation.py tests/compare/test_divergences.py tests/report/test_accessor.py \
	tests/report/test_for_arviz.py tests/report/test_arviz_arguments.py

# PyMC, nutpie, NumPyro, BlackJAX, CmdStan and PyStan. In environments of their own: PyMC requires its own numba, and ArviZ before 1 on
# Python 3.11, 1 or newer on Python 3.12. No parallel workers: what samplers compile
# is large. PyStan has a process of its own, because it forks, and JAX has threads.
test-samplers: $(SUPPORTED:%=samplers-%)  ## run samplers on small models, from model to verdict, on every installed Python

samplers-%:
	@python=$$(for found in python$* $(HOME)/.pyenv/versions/$*.*/bin/python; do \
	"$$found" -c "" 2>/dev/null && echo "$$found" && break; done); \
	if [ -z "$$python" ]; then echo "Python $* is not installed: skipped"; exit 0; fi; \
	set -ex; "$$python" -m venv $(VENV)-samplers-$*; \
	$(VENV)-samplers-$*/bin/python -m pip install --quiet --disable-pip-version-check -e '.[samplers]'; \
	export NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-samplers-$*/numba OMP_NUM_THREADS=1; \
	$(VENV)-samplers-$*/bin/python -m pytest tests/samplers --ignore=tests/samplers/test_pystan.py; \
	$(VENV)-samplers-$*/bin/python -m pytest tests/samplers/test_pystan.py

# In environments of their own: SDMetrics and SDV require pandas 2, and SDV brings torch.
test-sdmetrics:  ## test DependenceFidelity as a metric of SDMetrics
	$(PYTHON) -m venv $(VENV)-sdmetrics
	$(VENV)-sdmetrics/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,sdmetrics]'
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-sdmetrics/numba $(VENV)-sdmetrics/bin/python $(PYTEST) \
	tests/compare/test_sdmetrics.py tests/project/test_tables_study.py

tables-study:  ## compare scores of synthetic tables, SDMetrics' among them, with a classifier; updates benchmarks/tables.md and tables.json
	$(PYTHON) -m venv $(VENV)-tables
	$(VENV)-tables/bin/python -m pip install --quiet --disable-pip-version-check -e '.[tables-study]'
	NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)-tables/numba $(VENV)-tables/bin/python -m benchmarks.tables --jobs 2 --write benchmarks/tables.md

clean:  ## remove everything that the other targets made
	rm -rf $(VENV) $(VENV)-* build dist docs/_build docs/jupyter_execute docs/api/generated .coverage demo.html demo.json .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
