"""Generates papers from a grammar, to compare parsed LaTeX with TeX's printed output."""
