"""Handles TeX syntax: tokens, a paper's files, macros, commands, labels, and text without layout.

May import: code shared by the formats of papers."""
