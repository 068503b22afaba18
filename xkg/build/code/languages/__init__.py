"""Parses a source file into a `Module`. Python has a dedicated parser. Other languages use tree-sitter queries.

May import: codebase, and any layer below `build`."""
