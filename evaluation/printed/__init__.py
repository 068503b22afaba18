"""Generates papers from a grammar, for comparing parsed LaTeX with TeX's printed output."""
