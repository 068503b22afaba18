"""Which names statements bind and use, and what those names stand for.

May import: code, and what lies below build.
"""
