"""Where papers come from: arXiv, downloads, files.

May import: parsing, paper, and what lies below build.
"""
