"""Typed answers: what a node looks like to a reader, cut to a budget, quoted safely.

May import: what lies below serve.
"""
