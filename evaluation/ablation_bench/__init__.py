"""AblationBench (Abramovich and Chechik, arXiv 2507.08038) as tasks of Inspect, and a small benchmark that runs here.

`inspect eval evaluation/ablation_bench/tasks.py@author` plans and judges; `python -m evaluation.ablation_bench` makes
instances and reads logs. It needs the extra `xkg[eval]`. The planner that it measures is the product's
(`xkg.agents.planning`); nothing of xkg imports this.
"""
