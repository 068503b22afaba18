"""Agents that use a graph: workspace, actions, memory; they codify a method and ablate it.

May import: serve, and what lies below it. Reads the graph through serve alone.
"""
