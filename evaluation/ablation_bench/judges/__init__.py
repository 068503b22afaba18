"""Judges as scorers of Inspect, their prompts, how their answers are read, and how they compare with people.

Imports of the benchmark: `answers`, `instances`, `reading`, `scores`.
"""
