"""Side indexes: text, vectors, late interaction, and the catalogue.

May import from any layer below `store`."""
