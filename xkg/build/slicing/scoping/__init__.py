"""Finds the names that statements bind and use, and the definitions they refer to.

May import: code, and the layers below build."""
