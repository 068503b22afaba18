"""A measurement's results as JSON and as a table, and their comparison with an earlier run. From this project, it
imports `xkg` but nothing from `evaluation`."""
