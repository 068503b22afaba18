"""Parses TeX tokens, files, macros, commands and labels, and converts TeX to text without layout.

May import from code shared by all paper formats."""
