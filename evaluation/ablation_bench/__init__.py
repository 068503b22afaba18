"""AblationBench (Abramovich and Chechik, arXiv 2507.08038) as Inspect tasks, and a small benchmark that runs here.

`inspect eval evaluation/ablation_bench/tasks.py@author` plans and judges; `python -m evaluation.ablation_bench` makes
instances and reads logs. It needs the extra `xkg[eval]`. The measured planner is the product's (`xkg.agents.planning`);
nothing in xkg imports this package."""
