"""Parses papers into `Document`s, with one package per format plus shared code.

May import from any layer below `build`."""
