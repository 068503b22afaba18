"""Finds the names that statements bind and use, and the definitions that these names refer to.

May import from `code` and any layer below `build`."""
