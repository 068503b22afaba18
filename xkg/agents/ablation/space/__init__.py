"""Finds code that can be ablated in a working copy, without a model.

`switches.py` finds options, settings and arguments, `constants.py` finds names and attributes that are assigned once,
and `calls.py` finds defaults that calls override. `stages.py` finds functions with equal signatures, and steps of a
method that can be omitted (`forms.py` decides which calls can be omitted). Changeable code is a `Site`. `exclusions.py`
finds code to leave out and code that computes the metric, `measurement.py` follows printed values to their
computations, and `reasons.py` explains why a switch or a site is not part of a method. `values.py` chooses new values
for switches. `facts.py` (with `statements.py`) records the assignments in each statement, and `flow.py` slices
backwards from the metric. `probes.py` defines a value that ends the run when used, and `seeds.py` finds the seeds that
runs vary. `space.py` combines these results with a paper's techniques."""
