# Every target bootstraps .venv by itself; the second time costs nothing.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo up test quick check format bench long soak outage lock clean

demo: $(READY)          ## about 20 sample claims through four hours, in about a minute; OPERATE=1 shows them in Operate
	@$(BIN)/reenvio demo $(if $(OPERATE),--operate --keep)

up: $(READY)            ## engine, database, models and workers in real time; Ctrl-C stops
	@$(BIN)/reenvio up

test: check             ## everything: style, types, layers, unit, contract and process tests
	$(BIN)/pytest -n 2 --dist loadfile

quick: $(READY)         ## the inner loop: unit and contract tests, no broker
	$(BIN)/pytest -n 2 --dist worksteal --quiet tests/unit tests/contract

check: $(READY)         ## style, types and layers only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)        ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)         ## side by side with the Java client and stock pyzeebe, on one broker
	$(BIN)/python -m tests.bench

long: $(READY)          ## the tests that take minutes: outage, exactly once with killed workers (`make test` leaves them out)
	$(BIN)/pytest -n 2 --dist worksteal -m long

soak: $(READY)          ## twenty minutes of faults against a worker, with figures at the end
	$(BIN)/python -m tests.chaos.soak --minutes 20

outage: $(READY)        ## 500 claims through a 3 hour outage, with the plain rule and with the breaker: a table
	$(BIN)/python -m tests.outage

lock: $(READY)          ## recompile the lock file from pyproject.toml
	$(BIN)/uv pip compile --universal --generate-hashes --no-header --python-version 3.11 \
	  pyproject.toml --extra dev --output-file requirements-dev.lock --quiet --upgrade

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .reenvio build dist

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Reenvio needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the locked dependencies into .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
