"""Web pages that show a graph to people.

May import from `agents`, `serve`, and the layers below them.
"""
