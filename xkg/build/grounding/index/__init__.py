"""A repository's symbols and blocks of statements as documents to search, and the words that papers and code share.

May import: code, and what lies below build.
"""
