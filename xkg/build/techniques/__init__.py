"""Extracts a paper's techniques from its structure: headings, algorithms, terms, definitions.

May import: paper, and the layers below build."""
