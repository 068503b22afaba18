"""Judges as Inspect scorers, their prompts, the parsing of their answers, and comparison with human labels.

Imports of the benchmark: `answers`, `instances`, `reading`, `scores`."""
