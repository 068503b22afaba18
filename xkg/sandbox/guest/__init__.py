"""Code that runs inside what it confines.

May import: the standard library alone, since it starts in milliseconds and the rest of xkg is not to be had in there.
"""
