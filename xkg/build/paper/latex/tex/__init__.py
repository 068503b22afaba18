"""Handles TeX syntax: tokens, a paper's files, macros, commands, labels, and text without layout.

May import from code shared by all paper formats."""
