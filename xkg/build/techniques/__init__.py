"""Extracts techniques from the headings, algorithms, terms and definitions in a paper.

May import: paper, and the layers below build."""
