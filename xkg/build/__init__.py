"""Paper and repository to `PaperBundle`: a room for each kind of stage, `pipeline` orders them.

May import: llm, embeddings, sandbox, and what lies below. Knows nothing of any database.
"""
