PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SCRATCH := build/constraints
FLOORS := build/floors

# what touches other packages most: frames, formulas, files, pictures, reports, the command
FLOOR_TESTS := tests/unit/data tests/unit/test_package.py tests/unit/save/test_formula.py \
  tests/unit/plotting/test_canvas.py tests/unit/report/test_inputs.py \
  tests/cli/test_bad_options.py tests/cli/test_terminal.py

.DEFAULT_GOAL := help

# Where an environment asks for no bytecode, each of the hundreds of processes that the tests start
# would compile the package anew, which is a quarter of the time that the command takes to start.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: venv
venv: $(STAMP) ## Create or update the environment in .venv

# uv does not read pip's configuration: where it cannot reach the packages, pip may.
# Without bytecode, which pip writes unasked, every start of Python may have to compile its imports.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	{ $(BIN)/python -m pip install -q -c constraints.txt uv \
	    && $(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python \
	         -c constraints.txt -e '.[dev]'; } \
	  || $(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $@

.PHONY: demo
demo: venv ## Run the demonstration
	$(BIN)/exactregion demo

.PHONY: lint
lint: venv ## Check style, formatting and which module imports which
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo --no-cache

.PHONY: types
types: venv ## Check types
	$(BIN)/mypy

# While style and types are checked: workers and the site would each compile all loops otherwise.
.PHONY: compiled
compiled: venv ## Compile the loops, so that all processes find them
	$(BIN)/python -m tests.support.compiling

# Debian's own, where it may be installed: without it the browser tests are skipped, and say so.
.PHONY: browser
browser: ## Install Chromium for the browser tests, where that is possible
	@command -v chromium > /dev/null \
	  || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get update -qq \
	       && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	            chromium > /dev/null; } \
	  || echo 'There is no chromium on this machine: the browser tests will be skipped.'

# Each worker has half of the tests in their order, and takes from the other's end when it is done:
# dealt out one by one, both would wait for the site, and both would make what a file shares.
.PHONY: test
test: venv browser ## Check style and types, then run the tests
	$(MAKE) --no-print-directory --jobs=2 lint types compiled
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

.PHONY: audit
audit: venv ## Run the long validity studies
	$(BIN)/python -m pytest -m audit -n 2

.PHONY: fuzz
fuzz: venv ## Try damaged files, odd formulas and random options: minutes
	$(BIN)/python -m validation.fuzz

# Packages that pyproject.toml names, at the lowest versions that it allows; theirs are the newest.
.PHONY: floors
floors: venv ## Run the quick tests with the lowest versions that pyproject.toml allows
	rm -rf $(FLOORS)
	$(BIN)/uv venv -q --python $(BIN)/python $(FLOORS)
	$(BIN)/uv pip install -q --python $(FLOORS)/bin/python --resolution lowest-direct -e '.[all]'
	$(BIN)/uv pip install -q --python $(FLOORS)/bin/python -c constraints.txt \
	  hypothesis polars pytest pytest-xdist
	$(FLOORS)/bin/python -m pytest -n 2 -q -W default $(FLOOR_TESTS)

.PHONY: bench
bench: venv ## Measure speed, as ratios within one run
	$(BIN)/python benchmarks/ratios.py --largest 10000000
	$(BIN)/python benchmarks/growth.py --largest 10000000
	$(BIN)/python benchmarks/proofs.py

.PHONY: study
study: venv ## Run the study that README and docs quote, where it stopped (STUDY=--full: hours)
	$(BIN)/python -m validation $(STUDY)

.PHONY: docs
docs: venv ## Build the documentation in build/site, running every example
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: constraints
constraints: ## Pin the newest versions that resolve, in constraints.txt
	rm -rf $(SCRATCH)
	$(PYTHON) -m venv $(SCRATCH)
	$(SCRATCH)/bin/python -m pip install -q uv
	$(SCRATCH)/bin/uv pip install -q --python $(SCRATCH)/bin/python '.[dev]' \
	  || $(SCRATCH)/bin/python -m pip install -q '.[dev]'
	{ echo '# Exact versions of the development environment. Refresh with: make constraints'; \
	  $(SCRATCH)/bin/python -m pip freeze --exclude exactregion --exclude setuptools \
	    | grep -E '^[A-Za-z0-9._-]+==[^ ]+$$'; } > $(SCRATCH)/constraints.txt
	mv $(SCRATCH)/constraints.txt constraints.txt
	rm -rf $(SCRATCH)

.PHONY: clean
clean: ## Remove the environment and everything generated
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
