"""Converts text to unit vectors: the `Embedder` protocol, its runtimes and its cache.

This package may import `config`, `files` and `errors`."""
