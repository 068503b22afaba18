"""Parses TeX: its tokens, files, macros, commands and labels. Converts TeX to text without layout.

May import from code shared by all paper formats."""
