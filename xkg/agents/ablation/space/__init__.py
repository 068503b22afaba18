"""Finds what can be ablated in a working copy, without a model.

`switches.py` finds options, settings and arguments, `constants.py` names and attributes that are assigned once,
`calls.py` the defaults that calls override, `expressions.py` terms, updates and functions with equal signatures, and
`stages.py` steps of a method that can be left out (`forms.py` decides which calls these are); all of them yield a
`Site` (`site.py`). `exclusions.py` finds code to leave out and code that computes the metric, `reasons.py` says why a
switch or a site is not part of a method, and `values.py` chooses the values to which a switch is set. `facts.py` (with
`statements.py`) records the assignments in each statement, `flow.py` slices back from the metric, `probes.py` defines a
value that ends the run when it is used, and `seeds.py` finds the seeds that runs vary. `space.py` combines these with a
paper's techniques."""
