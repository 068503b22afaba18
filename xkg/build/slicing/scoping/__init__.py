"""Finds the names that statements bind and use, and the definitions they refer to.

May import: code, and what lies below build."""
