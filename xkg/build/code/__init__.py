"""Parses a repository into a `Codebase`: symbols, imports and calls, in each language.

May import: repositories, and any layer below `build`."""
