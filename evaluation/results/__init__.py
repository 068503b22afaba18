"""Results of a measurement: their JSON, their table, and the comparison with an earlier run.

Imports of the project: `xkg` and nothing of `evaluation`."""
