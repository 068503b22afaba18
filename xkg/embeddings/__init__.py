"""Converts text to unit vectors: the `Embedder` protocol, its runtimes and its cache.

May import from `config`, `files` and `errors`."""
