"""What can be ablated in a working copy, found without a model.

`switches.py` options and settings, `expressions.py` terms and calls inside functions, `alternatives.py` functions of
the same signature, `exclusions.py` what is left out and the code that computes the metric, `space.py` joins these with
the techniques of a paper.
"""
