"""Metrics of plans, and reports of logs.

Imports of the benchmark: `answers`; of the project, `evaluation.results`."""
