"""Paper sources: arXiv, downloads, files.

May import: parsing, paper, and any layer below `build`."""
