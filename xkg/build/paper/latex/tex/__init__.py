"""Handles TeX syntax: tokens, the files of a paper, macros, commands, labels, and text without layout.

May import: code shared by the formats of papers."""
