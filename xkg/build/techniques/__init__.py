"""A paper's techniques, from its own structure: headings, algorithms, terms, definitions.

May import: paper, and what lies below build.
"""
