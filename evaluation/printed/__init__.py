r"""Compares xkg's reading of a LaTeX paper with TeX's printed output: `python -m evaluation.printed`, or `make
fuzz-papers`.

A grammar makes papers (environments, conditions, inputs, encodings) in which every sentence has a unique word.
`pdflatex` and `pdftotext` (Debian: `texlive-latex-extra texlive-plain-generic texlive-science lmodern poppler-utils`)
show which of these are printed; the passages and headings of the parsed paper show which are read. A word is `extra` if
it is read but not printed, `missing` if it is printed but not read; contents of floats other than captions, tables and
algorithms may be missing. A paper agrees if it has neither. Papers that TeX refuses are skipped."""
