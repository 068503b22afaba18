"""A repository to a `Codebase`: symbols, imports, calls, in each language.

May import: sources, and what lies below build.
"""
