"""Plans ablations for a paper. A plan lists the components to remove, replace or add, the reasons, the metrics, and the
lines to change.

May import: serve, and the layers below it. Reads the graph only through `xkg.serve.service`, and does not run or write
anything."""
