"""Finds code that can be ablated in a working copy, without a model.

`switches.py` finds options, settings and arguments, `constants.py` finds names and attributes that are assigned once,
and `calls.py` finds defaults that calls override. `expressions.py` finds terms, updates and functions with equal
signatures, and `stages.py` finds steps of a method that can be omitted (`forms.py` decides which calls can be omitted).
Changeable code is a `Site` (`site.py`). `exclusions.py` finds code to leave out and code that computes the metric, and
`reasons.py` explains why a switch or a site is not part of a method. `values.py` chooses new values for switches.
`facts.py` (with `statements.py`) records the assignments in each statement, and `flow.py` slices backwards from the
metric. `probes.py` defines a value that ends the run when used, and `seeds.py` finds the seeds that runs vary.
`space.py` combines these results with a paper's techniques."""
