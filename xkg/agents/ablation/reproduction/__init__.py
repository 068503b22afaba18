"""Establishes the baseline: finds the command, gets it to run, and summarises its runs.

`plan.py` asks a model for a plan and checks it against the repository, and `executor.py` runs and repairs the command.
`damaged_files.py` and ablation's `failures` recognise known causes of failure, and `baseline.py` compares the results
with the paper's claims.

May import: agents.workspace, ablation's task, bench, parsing and outcomes, and the layers below agents."""
