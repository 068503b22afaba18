"""Pages of a graph for people.

May import: agents, serve, and what lies below.
"""
