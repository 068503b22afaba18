"""Has a model find a paper's techniques, their definitions, and the location of their code.

May import: the packages in `build` that do not use a model."""
