"""Reproduces an experiment in its own repository, then measures how much each component matters.

The agent of AblateCell (reproduce, then ablate) over a graph: `space/` finds what can be changed without a model,
`mutation.py` changes source exactly, `checks.py` refuses a change before it costs a run, `selection/` decides what to
try next, `effects.py` what an outcome shows.

May import: agents.workspace, serve, and what lies below it.
"""
