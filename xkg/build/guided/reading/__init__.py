"""A model reads the paper: techniques, definitions, overview, and where the code is.

May import: the rooms of build without a model.
"""
