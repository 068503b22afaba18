"""Locates techniques in a repository or working copy. Maps technique descriptions to symbols and lines.

May import from `index`, `techniques`, `code`, `sources` and any layer below `build`."""
