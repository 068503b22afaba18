"""Reproduces an experiment in its own repository, then measures how much each component matters.

The design is that of the AblateCell agent (reproduce, then ablate), extended with the graph. `reproduction/` finds the
command and gets it to run, `space/` finds possible changes without a model, and `roles/` adds changes proposed by a
model. `mutation.py` applies exact source changes and rejects bad changes before they cost a run, and `rounds/` chooses
what to try next. `parsing.py` parses code in the confined process, and `effects.py` interprets outcomes.

May import: agents.workspace, agents.planning, serve, and the layers below it."""
