"""Measures the value of the graph for agents that replicate papers (PaperBench, arXiv 2504.01848): agents as Inspect
tasks (`tasks.py`), scores from weighted rubric trees (`rubric.py`), and gains by paper, domain and failure mode
(`gains.py`). `evaluation.export_context` writes contexts for the agents."""
