"""The side indexes for text, vectors and late interaction, and the catalogue.

This package may import from any layer below `store`."""
