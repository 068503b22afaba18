"""Plans ablations of a paper: which component to remove, replace or add, why, by what measure, and in which lines.

May import: serve, and what lies below it. Reads the graph through `xkg.serve.service` alone; runs nothing, writes
nothing.
"""
