# Everything a developer or CI runs. `make help` lists it.
#
# Nothing is installed by hand: `make dev` fetches what is missing, by name, from the registries as
# the machine has them configured.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help dev stubs wheel docs test test-c test-trace test-sanitize test-python test-timed \
	reproduce-quick demo demo-docs docs-commands swarm swarm-check fuzz bench bench-check bench-calls bench-control bench-copy \
	bench-fast bench-kill bench-sim bench-netns lint clean

VENV ?= .venv
BIN := $(abspath $(VENV))/bin
export PATH := $(BIN):$(PATH)
# The sources in the current folder must not hide the package that is installed.
export PYTHONSAFEPATH := 1
# A registry that is slow, or away for a moment, is asked again.
export PIP_RETRIES ?= 10
CPUS := $(shell nproc)
# Tests on real links wait for the kernel most of their time.
export MESON_TESTTHREADS := $(shell echo $$((2 * $(CPUS))))

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

$(VENV)/ready: pyproject.toml deploy/install-packages
	deploy/install-packages
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group test --group lint --group build
	touch $@

# What only the documentation and the wheel need; a demo does without.
$(VENV)/ready-to-release: $(VENV)/ready | dev
	$(BIN)/python -m pip install --quiet --group docs --group release
	touch $@

# Not editable: such an install rebuilds on every import, which tests that start processes by the
# dozen cannot afford. The build directory is kept, so this takes seconds.
dev: $(VENV)/ready ## Install what is missing, build, and install into .venv
	$(BIN)/python -m pip install --quiet --no-build-isolation -Cbuild-dir=build/python .

stubs: dev ## Rewrite ndpstack/_core.pyi after a change of core.cdef.h
	python bindings/make_stubs.py

test: dev test-c test-sanitize test-sanitize-python test-python lint ## Run every test

build-gcc build-clang: $(VENV)/ready
	test -f $@/build.ninja || CC=$(patsubst build-%,%,$@) meson setup $@ -Dbindings=false

build-sanitize: $(VENV)/ready
	test -f $@/build.ninja || CC=clang meson setup $@ -Dbindings=false \
		-Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1

# With the bindings: what is written for CPython has no other tests than Python's.
build-sanitize-python: $(VENV)/ready
	test -f $@/build.ninja || CC=clang meson setup $@ -Db_sanitize=address,undefined \
		-Db_lundef=false -Doptimization=1

test-c: build-gcc build-clang ## C tests under gcc and clang
	meson test -C build-gcc --print-errorlogs
	meson test -C build-clang --print-errorlogs
	$(MAKE) -j$(CPUS) test-trace

TRACE_SOURCES = $(wildcard $(foreach part,base wire transport queue,csrc/$(part)/*.c)) \
	$(filter-out csrc/sim/swarm%,$(wildcard csrc/sim/*.c)) csrc/test/run_trace.c
TRACE_WAYS = gcc-O0 clang-O3

build-trace/%: $(TRACE_SOURCES) $(wildcard csrc/*/*.h)
	@mkdir -p build-trace
	@echo "$@: $(words $(TRACE_SOURCES)) files"
	@$(subst -, -,$*) -std=gnu17 -D_GNU_SOURCE -Icsrc -Icsrc/include -o $@ $(TRACE_SOURCES)

test-trace: $(TRACE_WAYS:%=build-trace/%) ## Simulated runs are the same to the bit, however built
	for way in $(TRACE_WAYS); do build-trace/$$way > build-trace/$$way.txt; done
	diff $(TRACE_WAYS:%=build-trace/%.txt)
	cat build-trace/gcc-O0.txt

test-sanitize: build-sanitize ## C tests under AddressSanitizer and UBSan
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		meson test -C build-sanitize --print-errorlogs

SANITIZED = aio closing handlers homa interrupts messages ndp rpc sending waiting

# Python's own allocator would hide its blocks from the sanitizer, and Python leaks when it ends.
test-sanitize-python: dev build-sanitize-python ## Tests of the Python API with the bindings under both
	DESTDIR=$(abspath build-sanitize-python/root) meson install -C build-sanitize-python --quiet
	site=build-sanitize-python/root$$(python -c 'import sysconfig; print(sysconfig.get_path("platlib"))'); \
	LD_PRELOAD=$$(clang -print-file-name=libclang_rt.asan-$$(uname -m).so) \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	PYTHONMALLOC=malloc PYTHONPATH=$$site pytest -n $(CPUS) -q \
		$(SANITIZED:%=tests/api/test_%.py)

test-python: dev ## Python tests, and the reasons of those that were skipped
	$(BIN)/pytest -n $(CPUS) -rs

test-timed: dev build-gcc ## The tests that have bounds on times, with those checked; wants a quiet machine
	NDPSTACK_TIMED=1 meson test -C build-gcc test_xdp_faults
	NDPSTACK_TIMED=1 $(BIN)/pytest -v -m timed

reproduce-quick: dev ## A part of the papers' experiments, of those that CI has time for
	$(BIN)/ndpstack reproduce --quick

DEMO ?=
demo: dev ## The product doing its main job on real packets, in under three minutes
	$(BIN)/ndpstack demo $(DEMO)

demo-docs: dev ## The demo in whole, and its tables into README and docs; wants a quiet machine
	$(BIN)/ndpstack demo --strict --json --out build > build/demo.json
	$(BIN)/python docs/_tools/make_demo.py build/demo.json

# What refuses a change has to be its own fault, so these seeds follow from the C sources: others
# with each change, the same wherever the same sources are tested.
SWARM_SEEDS ?= 8000
swarm-check: dev ## SWARM_SEEDS that follow from the C sources; the same sources give the same verdict
	first=$$(find csrc -name '*.[ch]' | LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1); \
	$(BIN)/ndpstack swarm --seed $${first}00000 --seeds $(SWARM_SEEDS) --shrink

SWARM_MINUTES ?= 1
SWARM_PROTOCOL ?= both
swarm: dev ## Seeds that nobody has run yet, for SWARM_MINUTES
	$(BIN)/ndpstack swarm --protocol $(SWARM_PROTOCOL) --minutes $(SWARM_MINUTES) --shrink

build-fuzz: $(VENV)/ready
	test -f $@/build.ninja || CC=clang meson setup $@ -Dbindings=false -Dfuzz=true \
		-Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1

FUZZ_SECONDS ?= 60
FUZZ_JOBS ?= $(CPUS)
fuzz: build-fuzz ## Every fuzz target for FUZZ_SECONDS; inputs that found something stay there
	ninja -C build-fuzz
	mkdir -p build-fuzz/seeds build-fuzz/found
	build-fuzz/csrc/make_seeds build-fuzz/seeds
	find build-fuzz/csrc -maxdepth 1 -name 'fuzz_*' -type f -printf '%f\n' | sort | \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 xargs -P $(FUZZ_JOBS) -I{} sh -euc ' \
		mkdir -p build-fuzz/seeds/{} build-fuzz/corpus/{}; \
		build-fuzz/csrc/{} -max_len=2048 -max_total_time=$(FUZZ_SECONDS) -verbosity=0 \
			-print_final_stats=1 -artifact_prefix=build-fuzz/found/{}- \
			build-fuzz/corpus/{} build-fuzz/seeds/{} > build-fuzz/{}.log 2>&1 || \
			{ cat build-fuzz/{}.log; echo "{} found something: build-fuzz/found/{}-*"; exit 1; }; \
		echo "{}: $$(grep -o "executed_units: .*" build-fuzz/{}.log)"'

bench: build-gcc dev ## What the hot operations cost: instructions, nanoseconds, targets
	python tests/tools/bench.py

bench-check: build-gcc dev ## Instruction counts against their gates
	python tests/tools/bench.py --check

bench-fast: build-gcc dev ## The fast path: echoes and the switch beside bare AF_XDP, bulk, PULL spacing
	ninja -C build-gcc $(patsubst %,csrc/bench_fast_%,bulk connect echo idle pull switch)
	python tests/tools/bench_fast.py

bench-netns: dev ## E-N08 and E-N09 on real links against their bounds
	NDPSTACK_TIMED=1 $(BIN)/pytest -v tests/netns/test_run_bounds.py

bench-control: dev ## What 10,000 control calls do to the p99 of a frame
	NDPSTACK_TIMED=1 $(BIN)/pytest -v tests/switchd/test_whole.py -k control_calls

KILLS ?= 50
bench-kill: dev ## Kill -9 of applications, host service and switchd at load, KILLS times each
	NDPSTACK_KILLS=$(KILLS) NDPSTACK_TIMED=1 $(BIN)/pytest -v -k kill tests/netns/test_host.py \
		tests/netns/test_switch_kill.py

CALLS ?= 1000000
bench-calls: dev ## Memory that stays flat over CALLS requests from Python
	NDPSTACK_CALLS=$(CALLS) $(BIN)/pytest -v -o timeout=0 -o faulthandler_timeout=0 \
		tests/api/test_process.py -k flat

bench-copy: dev ## From which size on a received message is cheaper to lend than to copy
	PYTHONSAFEPATH= python tests/tools/bench_copy.py # As below.

bench-sim: build-gcc dev ## Packet-hops a second of the simulator, memory, what Python adds
	ninja -C build-gcc csrc/bench_sim
	PYTHONSAFEPATH= python tests/tools/bench_sim.py # It imports what lies beside it.

PAGES ?=
docs-commands: dev build-gcc ## Every command of README and docs as written; root, PAGES= for some; long
	PYTHONSAFEPATH= python docs/_tools/run_commands.py $(PAGES)

lint: dev ## ruff and mypy
	ruff check .
	ruff format --check .
	mypy ndpstack switchd bindings tests docs/_tools examples

wheel: dev $(VENV)/ready-to-release ## Build sdist and wheel as from a clean clone, and try the wheel where nothing is
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	deploy/check-wheel dist/*.whl

SPHINX := sphinx-build -W -n -q -d docs/_build/doctrees
docs: dev $(VENV)/ready-to-release ## Build the documentation and run its examples
	$(SPHINX) -b html docs docs/_build/html
	$(SPHINX) -b man docs docs/_build/man
	$(SPHINX) -b doctest docs docs/_build/doctest

clean: ## Remove everything that was built
	rm -rf $(VENV) build build-gcc build-clang build-sanitize build-trace build-fuzz dist docs/_build
