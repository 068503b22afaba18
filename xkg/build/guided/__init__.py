"""The stages of a build that a language model guides. Each has a static counterpart in the rooms beside it.

May import: every room of build.
"""
