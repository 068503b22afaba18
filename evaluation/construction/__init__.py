"""How good a graph is as it was built: `python -m evaluation.construction GRAPH`.

`tasks.py` has the judged parts as Inspect tasks; all else counts. Imports of the project: `xkg`, `evaluation.inputs`,
`evaluation.results`.
"""
