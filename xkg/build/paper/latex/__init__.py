"""Reads LaTeX into a `Document`.

May import: tex, and code shared by the formats of papers."""
