"""One file of code to its `Module`, language by language: tables over tree-sitter grammars, and Python.

May import: codebase, and what lies below build.
"""
