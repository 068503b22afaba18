"""Has a model find a paper's techniques, their definitions and their places in the code.

May import: the packages in `build` that do not use a model."""
