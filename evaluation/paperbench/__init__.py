"""Measures the value of the graph for agents that replicate papers (PaperBench, arXiv 2504.01848). `tasks.py` defines
the agents as Inspect tasks, `rubric.py` computes scores from weighted rubric trees, and `gains.py` reports gains by
paper, domain and failure mode. `evaluation.export_context` writes contexts for the agents."""
