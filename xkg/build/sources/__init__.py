"""Paper sources: arXiv, downloads, files.

May import: parsing, paper, and what lies below build."""
