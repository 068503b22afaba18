"""Stores `PaperBundle`s as a graph with side indexes, and reads them back.

May import: embeddings, llm, and the layers below. Does not depend on any paper format."""
