"""What can be ablated in a working copy, found without a model.

`switches.py` options, settings and arguments, `constants.py` names and attributes that are given a value once,
`calls.py` which defaults the calls override, `expressions.py` terms and calls inside functions, and functions of one
signature, `exclusions.py` what is left out and the code that computes the metric, `facts.py` from what each statement
gives a value, `flow.py` what the metric is computed from, `probes.py` a value that ends the run when it is used,
`space.py` joins these with the techniques of a paper. `seeds.py` finds the seeds that runs vary.
"""
