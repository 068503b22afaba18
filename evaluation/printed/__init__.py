r"""What of a LaTeX paper is read beside what TeX prints: `python -m evaluation.printed`, or `make fuzz-papers`.

Papers are made by a grammar (environments, conditions, inputs, encodings); every sentence has a word that occurs
nowhere else. `pdflatex` and `pdftotext` (Debian: `texlive-latex-extra texlive-plain-generic texlive-science lmodern
poppler-utils`) say which of these are printed; the passages and headings of the parsed paper, which are read. A word is
`extra` if it is read and not printed, `missing` if it is printed and not read; what floats hold beside captions, tables
and algorithms may be missing. A paper agrees if it has neither. Papers that TeX refuses are passed over."""
