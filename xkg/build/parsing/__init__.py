"""Parses papers and repositories in a sandboxed process.

May import: paper, code, repositories, and any layer below `build`."""
