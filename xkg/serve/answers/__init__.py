"""Typed answers about nodes, safely quoted and cut to a token budget.

May import from any layer below `serve`."""
