"""Parses a source file into a `Module`. Python is parsed by dedicated code, and other languages with queries on
tree-sitter grammars.

May import: codebase, and any layer below `build`."""
