"""Reproduces an experiment in its own repository, then measures how much each component matters.

The design follows the AblateCell agent: reproduce the experiment, then ablate it. Unlike AblateCell, this agent also
uses the graph. `reproduction/` finds the command and makes it run. `space/` finds possible changes without a model, and
`roles/` adds changes that a model proposes. `mutation.py` applies exact source changes and rejects bad ones before they
run. `rounds/` chooses the next changes to try. `parsing.py` parses code in the confined process, and `effects.py`
interprets outcomes.

May import: agents.workspace, agents.planning, serve, and the layers below it."""
