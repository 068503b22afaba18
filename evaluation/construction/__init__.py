"""Measures the quality of a built graph: `python -m evaluation.construction GRAPH`.

`tasks.py` has the judged parts as Inspect tasks; the other modules compute figures without a judge. Imports of the
project: `xkg`, `evaluation.inputs`, `evaluation.results`.
"""
