"""A model writes the code of one technique, and it is run, repaired and judged.

May import: repair_guard, and the rooms of build without a model.
"""
