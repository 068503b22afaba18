"""What links papers: shared concepts, citations, and the model's decisions on open pairs.

May import: what lies below store.
"""
