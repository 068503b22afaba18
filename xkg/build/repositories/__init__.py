"""Reads a repository from a git URL, a git directory or a folder, without executing anything in it.

May import: any layer below `build`.
"""
