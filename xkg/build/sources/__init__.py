"""Where papers and repositories come from: arXiv, downloads, git, folders.

May import: what lies below build.
"""
