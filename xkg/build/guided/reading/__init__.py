"""A model reads the paper: its techniques, their definitions, and the location of their code.

May import: the packages of build without a model."""
