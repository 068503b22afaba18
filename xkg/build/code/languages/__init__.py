"""Parses a file of code into a `Module`: Python, and other languages by tables over tree-sitter grammars.

May import: codebase, and what lies below build."""
