"""Links papers through shared concepts, citations, and the model's decisions about undecided pairs.

This package may import from any layer below `store`."""
