"""Judges as Inspect scorers, their prompts, and the parsing of their answers.

Imports of the benchmark: `answers`, `instances`, `reading`, `scores`."""
