"""Reproduces an experiment in its own repository, then measures how much each component matters.

The agent of AblateCell (reproduce, then ablate) over a graph: `reproduction/` finds out what to run and makes it run,
`space/` what can be changed without a model, `roles/` what a model adds to that, `mutation.py` changes source exactly,
`checks.py` refuses a change before it costs a run, `selection/` and `rounds/` decide what to try next, `parsing.py`
reads code in the confined process, `effects.py` says what an outcome shows.

May import: agents.workspace, agents.codification, serve, and what lies below it.
"""
