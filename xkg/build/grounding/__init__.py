"""Locates a technique in a repository or a working copy: from its description to symbols and lines.

May import: techniques, code, sources, and what lies below build.
"""
