# Folio: `make run` and `make test` do all the set-up themselves; both may be run again at any time.
PYTHON ?= python3
VENV := .venv/bin
SETUP := $(PYTHON) folio/setup_environment.py

.DEFAULT_GOAL := help
.PHONY: help run setup models test test-fast test-hostile bench check

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

run: setup models ## Serve the sample documents at http://127.0.0.1:8000
	@$(VENV)/folio serve --ingest data/en --ingest data/zh

setup: ## Make the environment in .venv
	@$(SETUP)

models: setup ## Fetch and prepare the starter models
	@$(VENV)/folio models prepare

test: models check ## All tests, the real engine and a real browser included
	@$(SETUP) --with test
	@$(VENV)/pytest -m "not engine and not browser and not hostile"
	@$(VENV)/pytest -m "engine or browser or hostile"

test-fast: ## Tests without a language model, under two minutes
	@$(SETUP) --with test
	@$(VENV)/folio models prepare --embedder-only
	@$(VENV)/pytest -m "not engine and not browser and not hostile"

test-hostile: ## Tests that kill processes and feed hostile files
	@$(SETUP) --with test
	@$(VENV)/folio models prepare
	@$(VENV)/pytest -m hostile

bench: models ## Every benchmark, in its quick form
	@for script in benchmarks/*.py; do echo "== $$script"; $(VENV)/python $$script --quick || exit 1; done

check: ## ruff and mypy
	@$(SETUP) --with test
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy
