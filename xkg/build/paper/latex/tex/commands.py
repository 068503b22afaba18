"""Lists LaTeX's built-in commands and environments by purpose, such as layout, floats, formulas, algorithms and
tables."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _starred(text: str) -> frozenset[str]:
    return frozenset(name + star for name in text.split() for star in ("", "*"))


MATH_ENVIRONMENTS = _starred("""
    equation align gather multline eqnarray alignat flalign displaymath math dmath dgroup xalignat xxalignat
    IEEEeqnarray
""")
ALIGNED = _starred("align eqnarray alignat flalign xalignat xxalignat IEEEeqnarray")
GATHERED = _starred("gather multline dgroup")
PICTURES = _starred("tikzpicture pgfpicture picture tikzcd forest")
TABULARS = {
    "tabular": 1, "tabular*": 2, "tabularx": 2, "tabulary": 2, "xltabular": 2, "longtable": 1, "longtable*": 1,
    "supertabular": 1, "tabu": 1, "longtabu": 1, "tblr": 1, "longtblr": 1, "NiceTabular": 1, "NiceTabular*": 2,
    "tabularht": 2,
}  # fmt: skip
"""Environments with rows and cells, mapped to the number of braced arguments that each takes."""
FLOATS = (
    _starred("""
    figure table wrapfigure wraptable SCfigure SCtable sidewaystable sidewaysfigure teaserfigure subfigure subtable
    floatingfigure floatingtable marginfigure margintable figwindow tabwindow listing codelisting
""")
    | PICTURES
    | TABULARS.keys()
)
ALGORITHMS = _starred("""
    algorithm algorithmic algorithm2e algorithmbox myalgorithm pseudocode procedure algo ALC@g algpseudocode
""")
NOT_READ = FLOATS | ALGORITHMS | _names("thebibliography comment filecontents filecontents* CCSXML")
STATEMENTS = _starred("""
    theorem thm lemma lem proposition prop corollary cor coro proof definition defn defi assumption assum assump ass
    remark rem rmk example claim property fact conjecture observation obs proofsketch hypothesis condition restatable
    problem axiom
""")
ENVIRONMENT_ARGUMENTS = TABULARS | {
    "minipage": 1, "fminipage": 1, "boxedminipage": 1, "adjustbox": 1, "multicols": 1, "multicols*": 1,
    "wrapfigure": 2, "wraptable": 2, "wrapfigure*": 2, "floatingfigure": 1, "subfigure": 1, "subtable": 1,
    "thebibliography": 1, "adjustwidth": 2, "adjustwidth*": 2, "changemargin": 2, "spacing": 1, "varwidth": 1,
    "list": 2, "textblock": 1, "minted": 1, "overpic": 1, "otherlanguage": 1, "otherlanguage*": 1, "restatable": 2,
    "restatable*": 2, "alignat": 1, "alignat*": 1, "xalignat": 1, "xalignat*": 1, "array": 1, "lrbox": 1,
    "IEEEeqnarray": 1, "IEEEeqnarray*": 1, "figwindow": 1, "tabwindow": 1, "widepage": 0,
}  # fmt: skip
"""Environments whose braced arguments are settings rather than text, mapped to the number of these arguments."""
HEADINGS = _names("part chapter addchap section addsec specialsection subsection subsubsection minisec")

SPACES = _names("""
    newline linebreak hfill quad qquad enspace enskip thinspace medspace thickspace space hskip hspace nobreakspace
    cr tabularnewline
""")
"""Commands that separate words."""
_SIZES = "small footnotesize scriptsize tiny large Large LARGE huge Huge normalsize"
SWITCHES = _names(f"""
    maketitle noindent centering clearpage newpage pagebreak xspace protect {_SIZES} bf it em sc tt rm sf sl bfseries
    itshape scshape ttfamily rmfamily sffamily mdseries upshape normalfont smallskip medskip bigskip vfill par relax
    appendix tableofcontents printbibliography hline toprule midrule bottomrule ignorespaces unskip leavevmode
    raggedright raggedbottom flushbottom sloppy balance footnotemark nopagebreak allowbreak break selectfont
    newline linebreak hfill quad qquad enspace thinspace
""")
"""Macros without arguments that print no text."""
REFERENCES = _names("""
    ref eqref cref Cref autoref Autoref vref Vref subref labelcref namecref fullref cpageref pageref nameref crefrange
    Crefrange hyperlink
""")
_ONE = REFERENCES | _names("""
    label citealias footnote footnotetext thanks thanksref corref cortext fnref fntext tnoteref tnotetext marginpar todo
    vspace hspace vskip hskip includegraphics bibliography
    bibliographystyle usepackage pagestyle thispagestyle input include newcounter stepcounter refstepcounter
    hypertarget phantom hphantom vphantom index glsadd affiliation email address institute date nocite caption
    captionsetup graphicspath color pdfoutput hyphenation theoremstyle looseness sidenote endnote ccsdesc keywords
    rowcolor cellcolor columncolor arrayrulecolor cline addlinespace linespread tikzset pgfplotsset lstset
    enlargethispage allowdisplaybreaks subcaption cmidrule hypersetup pdfbookmark kern baselineskip parskip parindent
    missingfigure pdfcomment fxnote fxwarning fxerror fxfatal markright fancyhead fancyfoot sout xout st
    tabcolsep fontfamily fontseries fontshape arraystretch baselinestretch needspace setstretch DontPrintSemicolon
    algsetup
""")
_TWO = _names("""
    setlength addtolength setcounter addtocounter rule addcontentsline definecolor numberwithin crefname Crefname
    fontsize icmlcorrespondingauthor crefalias DeclareMathOperator captionof settowidth renewcommand newlength colorlet
    defcitealias markboth
""")
SILENT = dict.fromkeys(SWITCHES, 0) | dict.fromkeys(_ONE, 1) | dict.fromkeys(_TWO, 2) | {
    "addtocontents": 3, "specialrule": 3, "crefrange": 2, "Crefrange": 2, "hyperlink": 1,
    "@startsection": 6, "newlength": 1, "Crefname": 3, "crefname": 3,
}  # fmt: skip
"""Macros that print no text, mapped to the number of their arguments."""
FIRST_SILENT = {
    "href": 1, "bibinfo": 1, "bibfield": 1, "textcolor": 1, "colorbox": 1, "fcolorbox": 2, "resizebox": 2,
    "scalebox": 1, "parbox": 1, "raisebox": 1, "rotatebox": 1, "hyperref": 0, "foreignlanguage": 1, "multicolumn": 2,
    "multirow": 2, "adjustbox": 1, "makebox": 0, "framebox": 0, "textblock": 1, "mintinline": 1, "hyperlink": 1,
    "hypertarget": 1, "BIBforeignlanguage": 1, "newlist": 3, "pdftooltip": 0, "scaleto": 0, "textscale": 1,
}  # fmt: skip
"""Macros whose first arguments are settings rather than text, mapped to the number of these arguments."""
