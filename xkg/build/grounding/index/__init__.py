"""Indexes a repository's symbols and statement blocks as search documents, using words shared by papers and code.

May import from `code` and any layer below `build`."""
