"""Selects papers and repositories that are related to a target paper and worth building.

May import: sources, repositories, paper and techniques in `build`, and any layer below `build`."""
