# Everything here sets itself up: it needs Python 3.11 or newer, pip and make, and no root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Many tests wait for a server or a clock, so a processor can do with more than one of them.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(8, os.cpu_count() + 1))')

.PHONY: programs bench-programs help crawl test test-all lint bench bench-quick clean

help:  ## this list
	@awk -F ':.*##[[:space:]]*' '/^[a-z-]+:.*##/ { printf "%-12s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): setup.py requirements.txt
	@echo "== making a virtual environment in $(VENV) and installing packages (once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[test]'
	@touch $(READY)

# With root on Debian the programs that tests need are installed; else those tests say what they miss.
programs:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  missing=$$(for package in $$(cat tests/debian-packages.txt); do \
	    dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || echo $$package; done); \
	  if [ -n "$$missing" ]; then \
	    echo "== installing what the tests need:" $$missing; \
	    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing) >/dev/null 2>&1 \
	      || echo "== some could not be installed; the tests will say"; \
	  fi; fi

crawl: $(READY)  ## crawl SEEDS=https://example.org/ (without SEEDS: the bundled sample web)
	@$(BIN)/python -m webcrawler.demo $(if $(SEEDS),--seeds '$(SEEDS)') $(if $(SPIDER),--spider '$(SPIDER)') $(ARGS)

test: $(READY) programs lint  ## all tests but the long ones
	@echo "== running the tests"
	@$(BIN)/python -m pytest -m 'not slow' -n $(WORKERS) --dist loadfile --no-loadscope-reorder
	@echo "== all well; the long ones: make test-all, the figures: make bench"

test-all: $(READY) programs lint  ## all tests
	@$(BIN)/python -m pytest

# What the benchmarks serve and compare with, besides what the tests need.
bench-programs: programs
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! [ -d /usr/share/doc/postgresql-doc-15/html ]; then \
	  echo "== installing what the benchmarks need:" $$(cat benchmarks/debian-packages.txt); \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    $$(cat benchmarks/debian-packages.txt)) >/dev/null 2>&1 || echo "== could not; the benchmark will say"; fi

bench: $(READY) bench-programs  ## figures beside other crawlers, in one run, into docs/
	@$(BIN)/python benchmarks/crawl.py --write
	@$(BIN)/python benchmarks/frontier.py
	@$(BIN)/python benchmarks/politeness.py
	@$(BIN)/python benchmarks/costs.py

bench-quick: $(READY) bench-programs  ## the crawlers side by side in under two minutes
	@$(BIN)/python benchmarks/crawl.py --quick

lint: $(READY)  ## ruff and mypy
	@echo "== checking style and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .bench .pytest_cache .mypy_cache .ruff_cache *.egg-info build dist
