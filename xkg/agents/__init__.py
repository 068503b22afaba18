"""Agents that use a graph: one implements a method, and one ablates it. Includes their workspaces, actions and memory.

May import: serve, and the layers below it. Agents read the graph only through serve."""
