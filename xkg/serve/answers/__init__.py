"""Typed answers about nodes, cut to a token budget and safely quoted.

May import: the layers below serve."""
