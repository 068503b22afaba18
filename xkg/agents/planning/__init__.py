"""Plans ablations for a paper: the component to remove, replace or add, the reason, the metric, and the lines.

May import: serve, and the layers below it. Reads the graph only through `xkg.serve.service`; does not run or write
anything."""
