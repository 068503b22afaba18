"""A repository from a git URL, a git directory or a folder, read without obeying what is in it.

May import: what lies below build.
"""
