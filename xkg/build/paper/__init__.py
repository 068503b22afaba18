"""Reads a paper from disk into a `Document`: one package per format, plus code that the formats share.

May import: the layers below build."""
