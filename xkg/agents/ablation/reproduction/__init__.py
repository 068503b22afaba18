"""The baseline: what to run, made to run, and what its runs say.

`plan.py` holds a plan against the repository, `planner.py` asks a model for one, `executor.py` runs and repairs,
`damaged_files.py` and `failures` of ablation tell known causes apart, `baseline.py` compares with what is claimed.

May import: ablation's task, bench, operations, questions, parsing and outcomes, and what lies below agents.
"""
