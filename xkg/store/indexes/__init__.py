"""Side indexes: text, vectors, late interaction, the catalogue of what they hold.

May import: what lies below store.
"""
