"""Side indexes: text, vectors, late interaction, and the catalogue of their contents.

May import: the layers below store."""
