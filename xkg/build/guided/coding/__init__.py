"""A model writes the code of one technique, from its lines and what these need; it is run and checked.

May import: checking, repair_guard, and the rooms of build without a model.
"""
