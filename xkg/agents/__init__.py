"""Agents that use a graph to implement a method or to ablate it, with their workspaces, actions and memory.

May import: serve, and the layers below it. Agents read the graph only through serve."""
