"""Stores `PaperBundle`s as a graph with side indexes.

This package may import from `embeddings`, `llm`, and the layers below. No module in this package depends on a paper
format."""
