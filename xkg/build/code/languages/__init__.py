"""Parses a source file into a `Module`: Python with dedicated code, other languages with queries on tree-sitter
grammars.

May import: codebase, and any layer below `build`."""
