"""Typed answers about nodes, cut to a budget and quoted safely.

May import: the layers below serve."""
