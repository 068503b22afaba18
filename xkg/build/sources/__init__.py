"""Fetches papers from arXiv and other sources, and contains the clients for paper indexes and GitHub.

May import: parsing, paper, and any layer below `build`."""
