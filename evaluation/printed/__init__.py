"""Papers made by a grammar, to compare the reading of LaTeX with what TeX prints."""
