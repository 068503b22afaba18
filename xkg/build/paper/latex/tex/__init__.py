"""TeX itself: tokens, files that one paper is made of, macros, commands, labels, and text without layout.

May import: code shared by the formats of papers.
"""
