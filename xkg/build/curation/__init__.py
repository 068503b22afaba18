"""Curates the papers and repositories that are worth building around a target paper.

May import: sources, repositories, paper and techniques of build, and what lies below build."""
