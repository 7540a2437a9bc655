# Everything runs in .venv, which is made from requirements.lock once and again only when that file changes.
#   make book    execute the notebooks and build the book into _build/html
#   make test    the same on a small grid into _build/smoke, then every test
#   make serve   the book of `make book`, with a kernel behind every page
#   make lint    style, types, layers, notebooks, workflows
#   make lab     JupyterLab
#   make bench   the benchmarks
#   make lock    write requirements.lock anew (minutes)
#   make clean   remove everything generated but .venv
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: book test serve lint lab bench lock clean

book: $(READY)
	$(BIN)/yardsticks batch run notebooks/grids/book.yml --out _build/executed
	$(BIN)/python book/build.py --executed _build/executed --html _build/html

test: $(READY)
	$(BIN)/yardsticks batch run notebooks/grids/smoke.yml --out _build/smoke/executed
	$(BIN)/python book/build.py --executed _build/smoke/executed --html _build/smoke/html
	$(ONE_THREAD) YARDSTICKS_HTML=_build/smoke/html $(BIN)/python -m pytest -m "not gpu"

serve: $(READY)
	$(BIN)/yardsticks serve

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python tools/notebooks.py notebooks/*.ipynb
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

lab: $(READY)
	$(BIN)/jupyter lab

bench: $(READY)
	@set -e; for script in benchmarks/*.py; do echo "$$script"; $(BIN)/python "$$script"; done

# Not through .venv: the lock must be writable when the present one does not install.
lock:
	$(need_python)
	$(PYTHON) tools/lock.py

clean:
	rm -rf _build
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

define need_python
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Yardsticks needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "This Python has no venv: install python3-venv"; exit 1; }
endef

$(READY): requirements.lock pyproject.toml
	$(need_python)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
