"""A repository to a `Codebase`: symbols, imports, calls, in each language.

May import: repositories, and what lies below build.
"""
