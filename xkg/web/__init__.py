"""Web pages that show a graph to people.

May import: agents, serve, and the layers below them.
"""
