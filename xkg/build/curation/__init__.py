"""Curates the papers and repositories worth building around a target paper.

May import: sources, repositories, paper and techniques of build, and the layers below build."""
