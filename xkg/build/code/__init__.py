"""Parses a repository into a `Codebase`, which contains the symbols, imports and calls in every supported language.

May import: repositories, and any layer below `build`."""
