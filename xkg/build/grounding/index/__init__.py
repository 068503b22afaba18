"""Indexes a repository's symbols and statement blocks as search documents. Uses words that papers and code share.

May import from `code` and any layer below `build`."""
