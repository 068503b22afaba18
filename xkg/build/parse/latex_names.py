"""Names that LaTeX and its common packages give: which environments hold what, and which macros leave no text."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _starred(text: str) -> frozenset[str]:
    return frozenset(name + star for name in text.split() for star in ("", "*"))


MATH_ENVIRONMENTS = _starred("equation align gather multline eqnarray alignat flalign displaymath math dmath xalignat")
FLOATS = _starred("""
    figure table wrapfigure wraptable SCfigure sidewaystable sidewaysfigure tikzpicture tabular tabularx tabulary
    longtable teaserfigure subfigure subtable pgfpicture picture
""")
ALGORITHMS = _starred("algorithm algorithmic algorithm2e algorithmbox myalgorithm pseudocode")
NOT_READ = FLOATS | ALGORITHMS | _names("thebibliography comment filecontents filecontents* CCSXML")
BOXES = _names("minipage adjustbox multicols thebibliography tabular tabularx wrapfigure")
HEADINGS = _names("part chapter section subsection subsubsection")

SWITCHES = _names("""
    maketitle noindent centering clearpage newpage pagebreak linebreak newline xspace protect small footnotesize
    scriptsize tiny large Large LARGE huge Huge normalsize bf it em sc tt rm sf sl bfseries itshape scshape ttfamily
    rmfamily sffamily mdseries upshape normalfont smallskip medskip bigskip hfill vfill par relax appendix
    tableofcontents printbibliography hline toprule midrule bottomrule ignorespaces unskip leavevmode raggedright
    raggedbottom flushbottom sloppy balance footnotemark nopagebreak allowbreak break quad qquad
""")
"""Macros without arguments that leave no text."""
_ONE = _names("""
    label ref eqref cref Cref autoref pageref vref nameref subref crefrange citealias footnote footnotetext thanks
    marginpar todo vspace hspace vskip includegraphics bibliography bibliographystyle usepackage pagestyle
    thispagestyle input include newcounter stepcounter refstepcounter hypertarget phantom hphantom vphantom index
    glsadd affiliation email address institute date nocite caption captionsetup graphicspath color pdfoutput
    hyphenation theoremstyle looseness sidenote endnote ccsdesc keywords
""")
_TWO = _names("""
    setlength addtolength setcounter addtocounter rule addcontentsline definecolor numberwithin crefname fontsize
    icmlcorrespondingauthor DeclareMathOperator multicolumn captionof
""")
SILENT = dict.fromkeys(SWITCHES, 0) | dict.fromkeys(_ONE, 1) | dict.fromkeys(_TWO, 2) | {"addtocontents": 3}
"""How many braced arguments go with a macro that leaves no text."""
FIRST_SILENT = _names("""
    href bibinfo bibfield textcolor colorbox resizebox scalebox parbox raisebox rotatebox hyperref foreignlanguage
""")
"""Macros whose first argument says how to set the others."""
