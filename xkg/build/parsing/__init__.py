"""Parses papers and repositories in a confined process; contains the client and its tasks.

May import: paper, code, repositories, and any layer below `build`."""
