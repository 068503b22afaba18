"""Measures of plans, and what logs say of them.

Imports of the benchmark: `answers`; of the project, `evaluation.results`.
"""
