# Everything a newcomer types. `make help` lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# One thread for BLAS: two threads on two busy cores can run many times slower than one.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo studio web reproduce test quick mutants lint types contracts vectors machines check bench client screenshots docs dist matrix setup clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## Blur the ages of 48,842 people, recover their distribution, write confide-demo.html
	@$(BIN)/confide demo confide-demo.html

studio: $(VENV)/.installed  ## Design a survey, take part and look at what comes in, in a browser; keeps confide.db
	@$(BIN)/confide studio

reproduce: $(VENV)/.installed  ## Run every experiment of the paper, write build/reproduction/index.html (a quarter of an hour)
	@$(BIN)/python -m reproduction

test: $(VENV)/.installed-dev  ## Run all tests, docstring and README examples among them
	@$(BIN)/pytest -n auto --dist worksteal

quick: $(VENV)/.installed-dev  ## Run a sample of the tests, for the inner loop (under a minute)
	@$(BIN)/pytest -n auto -q --quick

mutants: $(VENV)/.installed-dev  ## Plant known faults in a copy, one at a time; fail if the tests do not notice (RECORD=1: find anew which tests run what)
	@$(BIN)/python -m tests.mutants $(if $(RECORD),--record)

lint: $(VENV)/.installed-dev  ## Check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@if [ -d build/node_modules/@biomejs/biome ]; then build/node_modules/.bin/biome ci && node web/types.mjs --check; fi

types: $(VENV)/.installed-dev  ## Check types, strictly
	@$(BIN)/mypy

contracts: $(VENV)/.installed-dev  ## Check that imports point one way
	@$(BIN)/lint-imports

vectors: $(VENV)/.installed-dev  ## Check that the vectors for clients are what would be made (half a minute)
	@$(BIN)/python -m vectors --check

machines: $(VENV)/.installed-dev  ## Run the tests of vectors and fingerprints as other processors would compute
	@$(BIN)/python -m vectors.machines

check: lint types contracts vectors machines test  ## All of the above: what CI runs

bench: $(VENV)/.installed-dev  ## Measure channels, sampling, the certified maximum, the default method, intervals, other packages, counting, groups
	@$(BIN)/python -m benchmarks.channels
	@$(BIN)/python -m benchmarks.sampling
	@$(BIN)/python -m benchmarks.mle
	@$(BIN)/python -m benchmarks.defaults --quick
	@$(BIN)/python -m benchmarks.coverage --repeats 10
	@$(BIN)/python -m benchmarks.peers
	@$(BIN)/python -m benchmarks.counting
	@$(BIN)/python -m benchmarks.groups --groups 1000
	@$(BIN)/python -m benchmarks.collector --kills 10 --rounds 1
	@$(BIN)/python -m benchmarks.places --cell '200 m'

screenshots: $(VENV)/.installed-dev  ## Photograph every page and screen in three widths, light and dark: build/screenshots/index.html (needs chromium)
	@$(BIN)/python -W ignore -m tests.pages.screenshots

client: clients/javascript/node_modules  ## Build the client in JavaScript into src/confide/studio/client (needs Node 20 or newer)
	@cd clients/javascript && node build.mjs

web: web/node_modules  ## Build the studio's pages into src/confide/studio/static (needs Node 20 or newer)
	@cd web && node build.mjs

# Tools of the tests alone: the checker of accessibility, and that of style for TypeScript. No lock file has biome, for it would
# have to name the programs of every platform, and a mirror may have some of them only.
build/node_modules/axe-core:
	@# Not by --prefix: npm would look for its global settings, a company's certificates among them, under it.
	@mkdir -p build && cd build && npm install --silent --no-audit --no-fund --no-save --no-package-lock axe-core@4 @biomejs/biome@2.6.7

clients/javascript/node_modules: clients/javascript/package.json clients/javascript/package-lock.json
	@cd clients/javascript && npm ci --silent --no-audit --no-fund && touch node_modules

web/node_modules: web/package.json web/package-lock.json
	@cd web && npm ci --silent --no-audit --no-fund && touch node_modules

docs: $(VENV)/.installed-docs  ## Build the documentation site into build/site (two minutes); warnings and dead links are errors
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs build/site
	@$(BIN)/python docs/offline.py build/site
	@echo "Wrote build/site/index.html"

dist: $(VENV)/.installed-release  ## Build the release twice, compare, check, and try it on every Python here with the lowest and the newest dependencies
	@$(BIN)/python release/dist.py

matrix:  ## Run `make test` in a fresh clone on every Python from 3.11 on that is here
	@$(PYTHON) release/matrix.py

setup: $(VENV)/.installed-dev  ## Make the environment for development

clean:  ## Remove the environment and everything that was made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache dist build confide-demo.html clients/javascript/node_modules clients/javascript/dist web/node_modules

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("confide needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV) (once; about a minute)..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'  # it knows --group
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.made pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group docs
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-release: $(VENV)/.made pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group release
	@touch $@
