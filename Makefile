# From a fresh clone: `make demo` shows what it does, `make test` proves it. Both need Python 3.11 or
# newer, and Node for the tests with the real OpenCode; everything else they install below this folder.

SHELL := /bin/sh
BIN := .venv/bin
READY := .venv/.ready
WORKERS ?= 2
# Tests with real processes, terminals and agents share a machine with little to spare: under CI, what
# failed is tried once more, alone, and said. What fails twice fails.
ifeq ($(CI),true)
again = || { echo "What failed, once more:"; $(BIN)/pytest -m $(1) --last-failed --last-failed-no-failures none; }
endif

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit real test-agents stories crashes reliability agents bench test-pythons generate pictures dist clean

help: ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

demo: $(READY) ## Watch a looping agent being stopped and set to work again.
	@scripts/install-agents opencode
	PATH="$(CURDIR)/.agents/opencode/node_modules/.bin:$$PATH" $(BIN)/loopguard demo

test: lint types unit real ## Check and test everything; what is skipped is said.

lint: $(READY) ## Style and layering.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY) ## mypy --strict.
	$(BIN)/mypy

unit: $(READY) ## Tests without a real agent.
	$(BIN)/pytest -n $(WORKERS) -m "not real" $(call again,"not real")

real: $(READY) agents ## Tests that drive the real OpenCode, and what other agents are installed.
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m real $(call again,real)

test-agents: export LOOPGUARD_TEST_AGENTS = all
test-agents: $(READY) ## Install all agents and tell the stories of loops, goals and stops with each.
	@scripts/install-agents
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m real $(call again,real)

stories: $(READY) ## Loops, goals and stops with the other agents, as far as they can be installed; CI runs it.
	@scripts/install-agents --offered
	$(BIN)/pytest tests/real -n $(WORKERS) --dist worksteal -m story $(call again,story)

agents: ## Install the OpenCode that the tests drive (into .agents/).
	@scripts/install-agents opencode

crashes: $(READY) ## Kill supervisors 500 times and more, and race a person's stop 500 times each way.
	TRIALS=500 $(BIN)/pytest tests/goal/test_crash.py tests/goal/test_races.py

reliability: $(READY) ## End agents and loopguard a thousand times; write the table in docs/reliability.md.
	$(BIN)/python -m tests.reliability --write

bench: $(READY) agents ## Measure, and write docs/benchmarks.md.
	$(BIN)/python -m tests.bench

test-pythons: ## Tests without a real agent, on every supported Python found.
	@scripts/test-pythons

generate: $(READY) ## Write completions, man pages and generated documentation anew.
	$(BIN)/python scripts/generate.py

pictures: $(READY) agents ## Take the pictures in docs/images anew (needs chromium).
	PATH="$(CURDIR)/.agents/opencode/node_modules/.bin:$$PATH" $(BIN)/python scripts/pictures.py
	$(BIN)/python -m scripts.report_pictures

dist: $(READY) ## Build the wheel and the source distribution.
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean: ## Remove everything that make installed or built.
	rm -rf .venv .venv-* .agents dist build

$(READY): pyproject.toml scripts/find-python
	@python=$$(scripts/find-python) && { test -x $(BIN)/python || "$$python" -m venv .venv; }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@
