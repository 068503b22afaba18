"""The stages of a build that a language model guides. Each has its static ground floor in the rooms beside it.

May import: every room of build.
"""
