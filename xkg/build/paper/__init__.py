"""A paper from disk to a `Document`: one room a format; what the formats share lies here.

May import: what lies below build.
"""
