"""Links between papers: shared concepts, citations, and the model's decisions about undecided pairs.

May import from any layer below `store`."""
