# Two commands do all the set-up: `make demo` and `make test`. Each makes its own .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
export PYTHONHASHSEED := 0

# The scripts of `make bench`, each of which writes a table into the docs, and further options of benchopt.
TABLES   ?= shapes glm softmax quantile insurance housing sacramento network paths exactness groups published growth row_visit big_sparse cold_start limits defaults peers all_rows tight one_pass \
  high_accuracy streams stream_passes vowpal clusters kills fuzz fuzz_cvxpy hostile steady benchopt_page
BENCHOPT ?=

CASES    ?= $(basename $(notdir $(wildcard examples/case_*.py)))

.PHONY: demo test test-all test-lowest audit bench cases docs browser dist lint types clean

demo: $(VENV)/core
	$(BIN)/adasadmm demo

test: $(VENV)/dev lint types
	$(BIN)/python -m pytest -n 2 -q -m "not slow"

# Everything marked slow; then the tests of compiled code, marked kernels, without the compiler and with bounds checks.
test-all: $(VENV)/bench docs browser
	$(BIN)/python -m pytest -n 2 -q -m slow
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -q -m "kernels and not slow and not compiled"
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/boundscheck $(BIN)/python -m pytest -n 2 -q -m "kernels and not slow"

# The same tests with the lowest versions that pyproject.toml allows, in a separate environment. Deprecation warnings of these
# versions are ignored.
LOWEST := .lowest
test-lowest: $(LOWEST)/ready
	NUMBA_CACHE_DIR=$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -n 2 -q -m "not slow" \
	  -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

$(LOWEST)/ready: pyproject.toml tests/lowest.py
	test -d $(LOWEST) || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python tests/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(LOWEST)/constraints.txt --editable ".[cli,report,data,dask,arrow,models,dev]"
	touch $@

# Known vulnerabilities of the installed packages; prints a message if no index of them can be reached.
audit: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip-audit>=2.7"
	$(BIN)/python tests/audit.py

# Every table of the docs, then the benchmark of benchopt, whose page is benchmarks/benchopt/outputs/benchopt.html. All of
# it takes hours; a part of it: make bench TABLES=cold_start BENCHOPT="-d Bundled -n 10"
bench: $(VENV)/bench
	set -e; for table in $(TABLES); do $(BIN)/python benchmarks/$$table.py; done
	$(BIN)/benchopt run benchmarks/benchopt --local --no-display --timeout 20m $(BENCHOPT)

# The case studies: figures and pictures into docs/cases/results, and figures into the pages. They need the data of
# docs/datasets.md. One of them: make cases CASES=case_rent
cases: $(VENV)/bench
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[peers]"
	set -e; for case in $(CASES); do $(BIN)/python examples/$$case.py --store; done
	$(BIN)/python docs/_ext/results.py

# The wheel and the sdist, into dist/.
dist: $(VENV)/dev
	$(BIN)/python -m build

# The site: docs/_build/html/index.html. Every example is run (if it changed), every warning is an error, the examples of
# docstrings are tested.
docs: $(VENV)/docs
	rm -rf docs/_build docs/generated/api
	$(BIN)/sphinx-build -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b doctest -d docs/_build/doctrees docs docs/_build/doctest

# Pages are tested in Debian's Chromium. If it is missing and cannot be installed, these tests are skipped with a message.
browser:
	@command -v chromedriver >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq >/dev/null \
	    && apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; } \
	  || echo "no chromium: the browser tests are skipped"

lint: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev
	$(BIN)/mypy

$(VENV)/core: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli,report]"
	touch $@

$(VENV)/dev: $(VENV)/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli,report,dev]"
	touch $@

$(VENV)/bench: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	touch $@

$(VENV)/docs: $(VENV)/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[cli,docs]"
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) docs/_build docs/gallery docs/generated build dist demo bench benchmarks/benchopt/__cache__ benchmarks/benchopt/outputs .pytest_cache .mypy_cache .ruff_cache .hypothesis
