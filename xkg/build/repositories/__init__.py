"""Reads a repository from a git URL, a git directory or a folder. Does not execute anything in the repository.

May import: any layer below `build`.
"""
