"""Indexes a repository's symbols and statement blocks as search documents, using words that papers and code share.

May import: code, and the layers below build."""
