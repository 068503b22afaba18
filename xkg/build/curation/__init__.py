"""Curates the papers and repositories worth building around a target paper.

May import: sources, repositories, paper and techniques in `build`, and any layer below `build`."""
