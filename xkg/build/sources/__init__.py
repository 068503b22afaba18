"""Paper sources: arXiv, downloads, files.

May import: parsing, paper, and the layers below build."""
