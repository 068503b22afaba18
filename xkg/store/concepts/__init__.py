"""Links between papers: shared concepts, citations, and the model's decisions on open pairs.

May import: the layers below store."""
