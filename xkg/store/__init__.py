"""Stores `PaperBundle`s as a graph with side indexes.

May import from `embeddings`, `llm`, and the layers below. Does not depend on any paper format."""
