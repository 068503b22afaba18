"""Parses papers and repositories in a confined process. The package contains the client and the tasks.

May import: paper, code, repositories, and any layer below `build`."""
