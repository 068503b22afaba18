"""Finds the names that statements bind and use, and the definitions they refer to.

May import from `code` and any layer below `build`."""
