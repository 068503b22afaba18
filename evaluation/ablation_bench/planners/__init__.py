"""Planners as solvers of Inspect, their prompts, and what the graph adds.

Imports of the benchmark: `answers`, `instances`, `reading`.
"""
