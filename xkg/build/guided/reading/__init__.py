"""Has a model find a paper's techniques, their definitions and the places where their code is.

May import: the packages in `build` that do not use a model."""
