"""Planners as Inspect solvers, their prompts, and the material from the graph.

Imports of the benchmark: `answers`, `instances`, `reading`."""
