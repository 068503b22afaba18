"""Papers and their gold ablations or reviews: rows as the benchmark has them, new ones, and the small benchmark.

Imports of the benchmark: `answers`.
"""
