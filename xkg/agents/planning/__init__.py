"""Plans ablations for a paper: which component to remove, replace or add, and why, the metric, and the lines to change.

May import: serve, and the layers below it. Reads the graph only through `xkg.serve.service`; does not run or write
anything."""
