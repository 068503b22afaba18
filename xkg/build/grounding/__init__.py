"""Locates a technique in a repository or working copy: from its description to symbols and lines.

May import from `index`, `techniques`, `code`, `sources` and any layer below `build`."""
