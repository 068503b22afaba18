"""Runs AblationBench (Abramovich and Chechik, arXiv 2507.08038) as Inspect tasks. A small benchmark needs only this
repository.

`inspect eval evaluation/ablation_bench/tasks.py@author` plans and judges; `python -m evaluation.ablation_bench` creates
instances and reads logs. The package requires the `xkg[eval]` extra. The planner under test is xkg's own
(`xkg.agents.planning`); nothing in xkg imports this package."""
