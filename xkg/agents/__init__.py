"""Implements agents that use a graph to implement or ablate a method. Provides their workspaces, actions and memory.

May import: serve, and the layers below it. Agents access the graph only through `serve`."""
