"""Parses papers and repositories in a sandboxed process. Contains the client and the tasks.

May import: paper, code, repositories, and any layer below `build`."""
