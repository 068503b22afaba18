"""From a technique to the symbols and lines that do it, in a repository or a working copy.

May import: techniques, code, sources, and what lies below build.
"""
