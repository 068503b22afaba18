"""Establishes the baseline: finds the command, makes it run, and summarises its runs.

`plan.py` asks a model for a plan and checks it against the repository. `executor.py` runs and repairs the command.
`damaged_files.py` and ablation's `failures` recognise known causes of failure. `baseline.py` compares the results with
the values that the paper claims.

May import: agents.workspace, ablation's task, bench, parsing and outcomes, and the layers below agents."""
