"""Has a model read the paper: its techniques, their definitions, and where their code is.

May import: the packages in `build` that do not use a model."""
