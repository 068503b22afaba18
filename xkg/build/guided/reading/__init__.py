"""A model reads the paper: its techniques, their definitions, an overview of the code, and the code's location.

May import: the packages of build without a model."""
