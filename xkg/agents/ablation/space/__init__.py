"""Finds what can be ablated in a working copy, without a model.

`switches.py` finds options, settings and arguments, `constants.py` names and attributes that are assigned once,
`calls.py` the defaults that calls override, `expressions.py` terms, updates and functions of equal signature,
`stages.py` steps of a method that can be left out, `forms.py` which calls those are; all give a `site.py`.
`exclusions.py` has code to leave out and code that computes the metric, `reasons.py` says why a switch or a site is no
part of a method, `values.py` to what a switch is set. `facts.py` (with `statements.py`) records the assignments of each
statement, `flow.py` slices back from the metric, `probes.py` makes a value that ends the run when it is used, and
`seeds.py` finds the seeds that runs vary. `space.py` combines these with the techniques of a paper."""
