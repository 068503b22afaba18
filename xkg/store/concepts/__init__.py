"""Links between papers: shared concepts, citations, and the model's decisions on undecided pairs.

May import: the layers below store."""
