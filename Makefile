# Every target makes its own .venv from pyproject.toml, with uv where it is there and plain pip where it is not.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-long static fmt bench clean

demo: $(STAMP)
	@$(BIN)/python examples/log_query/demo.py

test: static
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-long: static
	$(BIN)/python -m pytest -n 2 --dist loadfile --long

static: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -p gatewright
	$(BIN)/mypy tests/typing
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

fmt: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	@for file in bench/[a-z]*.py; do $(BIN)/python $$file --quick || exit 1; done

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .demo

$(STAMP): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
	  uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --upgrade pip && \
	  $(BIN)/python -m pip install --quiet --log $(VENV)/pip.log -e '.[dev]'; \
	fi
	@touch $@
