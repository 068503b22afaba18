"""Locates a technique in a repository or working copy: from its description to symbols and lines.

May import: index, techniques, code, sources, and the layers below build."""
