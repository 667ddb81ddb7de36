# Needs Python >= 3.11 and make; everything else is installed into .venv.
#   make demo    the main job: PageRank and BFS on two generated graphs
#   make test    lint, types and the whole test suite
#   make test-spark  the tests on Apache Spark, which needs Java 17 or newer
#   make fuzz    random cases against independent oracles (ARGS="--cases 1000")
#   make docs    the documentation, into build/site
#   make bench   the CPU benchmark against its peers (ARGS="..." is handed on)
#   make clean   remove what was built;  make distclean  the environment too

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test test-spark fuzz lint types docs bench clean distclean

demo: $(VENV)/.with-viz
	$(BIN)/python -m weft.cli.demo $(ARGS)

test: lint types
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

test-spark: $(VENV)/.with-dev $(VENV)/.with-spark
	@java -version >/dev/null 2>&1 || { echo "Java is missing. Install Java 17 or newer," \
	  "on Debian: apt install default-jre-headless" >&2; exit 1; }
	$(BIN)/python -m pytest -m spark tests/spark tests/sql $(ARGS)

fuzz: $(VENV)/.with-dev
	$(BIN)/python -m tests.fuzz $(or $(ARGS),--cases 1000)

lint: $(VENV)/.with-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.with-dev
	$(BIN)/mypy

# A link or a reference that leads nowhere is an error. The search needs a server.
docs: $(VENV)/.with-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "Wrote build/site/index.html; to read it with the search:"
	@echo "  $(BIN)/python -m http.server --directory build/site"

bench: $(VENV)/.with-bench
	$(BIN)/python benchmarks/cpu.py $(ARGS)

# One stamp per set of extras: nothing is installed again until pyproject.toml changes.
$(VENV)/.with-%: pyproject.toml | $(VENV)/.made
	@echo "Installing weft[$*] into $(VENV) ..."
	@$(PIP) install --editable '.[$*]'
	@touch $@

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "weft needs Python 3.11 or newer, got " + sys.version.split()[0] + ". Try: make PYTHON=python3.11")'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

clean:
	rm -rf build dist demo-output .pytest_cache .hypothesis .ruff_cache .mypy_cache .benchmarks
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
