"""Extracts a paper's techniques from the paper's headings, algorithms, terms and definitions.

May import: paper, and the layers below build."""
