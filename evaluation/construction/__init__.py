"""Measures the quality of a built graph: `python -m evaluation.construction GRAPH`.

`tasks.py` contains the judged parts as Inspect tasks; the other modules compute figures without a judge. The package
imports only `xkg`, `evaluation.inputs` and `evaluation.results` from this project.
"""
