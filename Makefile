# SPDX-License-Identifier: Apache-2.0
#
# The two commands are `make train` and `make test`; `make help` lists the others.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)

# Configures once; later CMake itself notices what changed.
define build
	@test -f $(1)/build.ninja || cmake --preset $(2) >$(1).configure.log 2>&1 || \
	  { cat $(1).configure.log; exit 1; }
	@rm -f $(1).configure.log
	@cmake --build $(1) -j $(JOBS) $(3)
endef

.PHONY: help setup build train test core check bench asan tsan format clean

help: ## list these targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

setup: ## install what is missing
	@tools/setup

build: setup ## build everything; leaves build/headrace
	$(call build,build,release)

train: build ## train a GPT on the texts of `fortunes` through two ranks
	build/headrace train examples/fortunes.toml

test: build ## build and run all tests
	@tools/run_tests build

core: ## everything that needs no LibTorch: configure, build, test
	@tools/setup --core
	$(call build,build-core,core)
	@tools/run_tests build-core

check: ## format, clang-tidy on the torch-free folders, the ladder of includes
	@tools/setup --core
	@tools/check

bench: build ## the benchmarks, side by side
	@benchmarks/run

asan: ## the torch-free tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup --core
	$(call build,build-asan,asan)
	@tools/run_tests build-asan

tsan: ## queues, executor and transport under ThreadSanitizer
	@tools/setup --core
	$(call build,build-tsan,tsan)
	@tools/run_tests build-tsan '^(execute|transport|contract)$$'

format: ## rewrite the sources in the project's format
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i

clean: ## remove all build folders
	rm -rf build build-core build-asan build-tsan
