"""Reads a paper from disk into a `Document`: one package per format, plus shared code.

May import from any layer below `build`."""
