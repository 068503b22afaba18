"""Reproduces an experiment in its own repository, then measures how much each component matters.

This is the agent of AblateCell (reproduce, then ablate) over a graph. `reproduction/` finds the command and gets it to
run, `space/` finds possible changes without a model, and `roles/` adds changes proposed by a model. `mutation.py`
applies exact source changes, `checks.py` refuses bad changes before they cost a run, `rounds/` chooses what to try
next, `parsing.py` reads code in the confined process, and `effects.py` interprets outcomes.

May import: agents.workspace, agents.planning, serve, and the layers below it."""
