"""Finds code in a working copy that can be ablated, without using a model.

`switches.py` finds options, settings and arguments. `constants.py` finds names and attributes that are assigned only
once. `calls.py` finds defaults that calls override. `stages.py` finds functions with equal signatures, and steps of a
method that can be omitted (`forms.py` decides which calls can be omitted). A `Site` is code that can be changed.
`exclusions.py` finds code to leave out and code that computes the metric. `measurement.py` follows printed values to
their computations. `reasons.py` explains why a switch or a site is not part of a method. `values.py` chooses new values
for switches. `facts.py` (with `statements.py`) records the assignments in each statement, and `flow.py` slices
backwards from the metric. `probes.py` defines a value that ends the run when used, and `seeds.py` finds the seeds that
runs vary. `space.py` combines these results with a paper's techniques."""
