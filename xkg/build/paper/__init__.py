"""A paper from disk to a `Document`: one room per format; code shared by the formats lies here.

May import: what lies below build.
"""
