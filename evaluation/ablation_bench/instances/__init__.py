"""Papers and their gold ablations or reviews: the benchmark's rows, new ones, and the small benchmark.

Imports of the benchmark: `answers`."""
