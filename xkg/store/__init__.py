"""`PaperBundle` to graph and side indexes, and back.

May import: embeddings, llm, and what lies below. Knows nothing of papers' formats.
"""
