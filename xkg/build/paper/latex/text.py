r"""Readable text from LaTeX: one pass over the source, without recursion, so that nesting of any depth is safe.

Symbols and accents are those of `pylatexenc`; its own walker recurses and gets single accents only."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache

from pylatexenc import latex2text

from xkg.build.paper.latex.macros import expand, find_macros
from xkg.build.paper.latex.tokens import Environment, Tex, environments

_CITE = re.compile(r"(?=[a-zA-Z]++$)[a-zA-Z]*?[cC]ite")
_CITE_AS_WORDS = re.compile(r"(?:[cC]ite(?:t|alt|author)|[tT]extcite|newcite|shortcite|citeasnoun)$")

_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z@]+)\*?"
    r"|\\(?P<symbol>.)"
    r"|(?P<math>\$\$?)"
    r"|(?P<paragraph>\n[ \t]*+\n\s*+)"
    r"|(?P<brace>[{}])|(?P<bracket>\])"
    r"|(?P<tie>[~&])",
    re.DOTALL,
)
_INLINE = re.compile(r"((?:[^$\\\n]|\\.|\n(?![ \t]*+\n)){0,4000}+)\$", re.DOTALL)
_DISPLAY = re.compile(r"((?:[^$\\]|\\.){0,20000}+)\$\$", re.DOTALL)
_MATH_NOISE = re.compile(
    r"\\(?:label|tag)\*?\s*\{[^{}]*\}|\\(?:nonumber|notag|displaystyle|limits|ensuremath|xspace)(?![a-zA-Z])"
)
_DIMENSION = re.compile(r"[ \t]*+=?[ \t]*+-?\d{0,5}\.?\d{1,5}[ \t]*+(?:pt|em|ex|cm|mm|in|bp|pc|sp)(?![a-zA-Z])")
_LONGEST_MATH = 20_000
_BREAK = "\x1d"


@cache
def _symbols() -> Mapping[str, str]:
    specs = latex2text.get_default_latex_context_db().iter_macro_specs()
    table = {
        spec.macroname: spec.simplify_repl
        for spec in specs
        if isinstance(spec.simplify_repl, str) and "%" not in spec.simplify_repl
    }
    table.pop("today", None)
    return table | {"ldots": "…", "dots": "…", "textbackslash": "\\", "textasciitilde": "~", "%": "%", " ": " "}


@cache
def _accent(snippet: str) -> str:
    converter = latex2text.LatexNodes2Text()
    try:
        return unicodedata.normalize("NFC", str(converter.latex_to_text(snippet, tolerant_parsing=True)))
    except IndexError:  # a macro inside, without the arguments that the library expects
        return ""


_ACCENTS = frozenset("'`^\"~=.")
_WORD_ACCENTS = frozenset(["c", "v", "u", "H", "k", "r", "d", "b", "t"])


def math(body: str) -> str:
    """A formula's TeX on one line, without labels."""
    return " ".join(_MATH_NOISE.sub("", body).split())


def latex_text(
    source: str,
    macros: Mapping[str, tuple[int, str]] | None = None,
    defaults: Mapping[str, str] | None = None,
    *,
    keep_algorithms: bool = False,
    cited_as: Mapping[str, str] | None = None,
) -> str:
    """Paragraphs of readable text, separated by blank lines: macros expanded, math as `$TeX$`; citations that are words
    of the sentence as in `cited_as`, by key; other citations, references, footnotes, figures, tables and algorithms
    (unless `keep_algorithms`) removed."""
    if not _MARKUP.search(source):
        return _tidy(source.replace("\n\n", _BREAK))
    if "\\" in source and (definitions := find_macros(source).definitions):
        source = "".join(_outside(source, definitions))
    return _tidy(_Reading(expand(source, macros or {}, defaults), keep_algorithms, cited_as or {}).read())


def _outside(text: str, spans: tuple[tuple[int, int], ...]) -> list[str]:
    out, at = [], 0
    for start, end in spans:
        out.append(text[at:start])
        at = max(at, end)
    return [*out, text[at:]]


class _Reading:
    def __init__(self, text: str, keep_algorithms: bool, cited_as: Mapping[str, str]) -> None:
        self.text = text
        self.cited_as = cited_as
        self.tex = Tex(text)
        self.out: list[str] = []
        self.no_close: set[str] = set()
        self.closing: dict[int, str] = {}
        self.dropped = NOT_READ - ALGORITHMS if keep_algorithms else NOT_READ
        self.begins = {e.start: e for e in environments(text)} if "\\begin" in text else {}

    def read(self) -> str:
        text, out, at = self.text, self.out, 0
        while match := _TOKEN.search(text, at):
            out.append(text[at : match.start()])
            at = match.end()
            if match["word"]:
                at = self._word(match)
            elif match["symbol"]:
                at = self._symbol(match)
            elif match["math"]:
                at = self._dollar(match)
            elif match["paragraph"]:
                out.append(_BREAK)
            elif match["tie"]:
                out.append(" ")
            elif self.closing and match.start() in self.closing:
                self._close(match.start())
            elif match["bracket"]:
                out.append("]")
        out.append(text[at:])
        return "".join(out)

    def _dollar(self, match: re.Match[str]) -> int:
        pattern = _DISPLAY if len(match["math"]) == 2 else _INLINE
        formula = pattern.match(self.text, match.end())
        if formula is None:
            return match.end()
        body = math(formula[1])
        if body in ("\\{", "\\}"):
            self.out.append(body[1])
        elif body:
            self.out.append(f"${body}$")
        return formula.end()

    def _symbol(self, match: re.Match[str]) -> int:
        symbol, after = match["symbol"], match.end()
        if symbol in "([":
            close = "\\)" if symbol == "(" else "\\]"
            end = -1 if close in self.no_close else self.text.find(close, after)
            if end < 0:
                self.no_close.add(close)
            elif end - after < _LONGEST_MATH:
                self.out.append(f"${math(self.text[after:end])}$")
                return end + 2
            return after
        if symbol == "\\":
            self.out.append(" ")
            return self.tex.skip_options(after)
        if symbol in _ACCENTS:
            return self._accented(match.group(), after)
        if symbol in "%&_#${}":
            self.out.append(symbol)
        elif symbol in " ,;:!/\n":
            self.out.append("" if symbol in "!/" else " ")
        return after

    def _accented(self, accent: str, after: int) -> int:
        argument = self.tex.argument(after)
        if argument is None or argument.end - argument.start > 6:
            return after
        self.out.append(_accent(f"{accent}{{{self.tex.inner(argument)}}}"))
        return argument.after

    def _word(self, match: re.Match[str]) -> int:
        word, after = match["word"], match.end()
        if word == "begin":
            return self._begin(match.start(), after)
        if word == "end":
            group = self.tex.group(after)
            self.out.append("\n")
            return group.after if group else after
        if word in ("verb", "lstinline") and after < len(self.text):
            close = self.text.find(self.text[after], after + 1, after + 300)
            if close > 0:
                self.out.append(self.text[after + 1 : close])
                return close + 1
        if word == "item":
            self.out.append(_BREAK)
            option = self.tex.option(after)
            if option:
                self.closing[option.end] = " "
            return option.start if option else after
        if word == "ensuremath" and (group := self.tex.group(after)):
            self.out.append(f"${math(self.tex.inner(group))}$")
            return group.after
        if word in ("url", "path", "nolinkurl") and (group := self.tex.group(after)):
            self.out.append(self.tex.inner(group))
            return group.after
        if word == "texorpdfstring" and (group := self.tex.group(after)):
            second = self.tex.group(group.after)
            return second.start if second else group.after
        if word in HEADINGS or word in ("paragraph", "subparagraph"):
            return self._heading(word, after)
        if word in FIRST_SILENT:
            at = self.tex.skip_options(after)
            group = self.tex.group(at)
            return self.tex.skip_options(group.after) if group else at
        if _CITE.match(word):
            if _CITE_AS_WORDS.match(word):
                self._cite(word, after)
            return self._skip(after, 1)
        if word in SILENT:
            if word == "par":
                self.out.append(_BREAK)
            if word == "xspace":
                return after
            return self._skip(after, SILENT[word]) if SILENT[word] else self._control_space(after)
        if word in _WORD_ACCENTS and self.text[after : after + 1] in ("{", " "):
            return self._accented(match.group(), after)
        symbol = _symbols().get(word)
        if symbol is not None:
            self.out.append(symbol)
            return self._control_space(after)
        if self.text.startswith("[", after):
            return self.tex.skip_options(after)
        dimension = _DIMENSION.match(self.text, after)
        return dimension.end() if dimension else self._control_space(after)

    def _cite(self, word: str, after: int) -> None:
        group = self.tex.group(self._skip_options(after))
        keys = self.tex.inner(group).split(",") if group else []
        names = [self.cited_as[key.strip()] for key in keys[:20] if key.strip() in self.cited_as]
        if word.endswith("author"):
            names = [name.partition(" (")[0] for name in names]
        self.out.append(", ".join(names[:-1]) + " and " * (len(names) > 1) + "".join(names[-1:]))

    def _control_space(self, after: int) -> int:
        """Skips the spaces after a control word, as TeX does."""
        while after < len(self.text) and self.text[after] in " \t":
            after += 1
        return after

    def _skip(self, at: int, groups: int) -> int:
        at = self._skip_options(at)
        for _ in range(groups):
            group = self.tex.group(at)
            if group is None:
                dimension = _DIMENSION.match(self.text, at)
                return dimension.end() if dimension else at
            at = self._skip_options(group.after) if _ + 1 < groups else group.after
        return at

    def _skip_options(self, at: int) -> int:
        return self.tex.skip_options(at) if self.text.startswith("[", self.tex.space(at)) else at

    def _heading(self, word: str, after: int) -> int:
        group = self.tex.group(self._skip_options(after))
        if group is None:
            return after
        self.out.append(_BREAK)
        if group.after > group.end:
            self.closing[group.end] = _BREAK if word in HEADINGS else ". "
        return group.start

    def _close(self, position: int) -> None:
        """Writes the end of a heading at its closing brace: a new paragraph, or a full stop before following text."""
        mark = self.closing.pop(position, "")
        ended = mark == ". " and bool(self.out) and self.out[-1].rstrip().endswith((".", "?", "!", ":"))
        self.out.append(" " if ended else mark)

    def _begin(self, start: int, after: int) -> int:
        environment = self.begins.get(start)
        if environment is None:
            group = self.tex.group(after)
            return group.after if group else after
        name = environment.name
        if environment.closed and name in MATH_ENVIRONMENTS:
            self._math(environment)
            return environment.end
        if environment.closed and name in self.dropped:
            return environment.end
        self.out.append("\n")
        at = self._skip_options(environment.body_start)
        if name in BOXES:
            at = self._skip(at, 1)
        return at

    def _math(self, environment: Environment) -> None:
        body = self.text[environment.body_start : environment.body_end]
        if len(body) < _LONGEST_MATH and (formula := math(body)):
            self.out.append(f" ${formula}$ ")


_MARKUP = re.compile(r"[\\{}$~&]|\n[ \t]+\n")
_QUOTES = re.compile(r"``|''")
_EMPTY = re.compile(r"[(\[](?:[\s,;.]|\be\.?g|\bsee\b|\bcf|\bi\.e\.|and)*+[)\]]")
_BEFORE_STOP = re.compile(r"(?<![ \t])[ \t]++(?=[,.;:!?)\]](?!\d))")
_REPEATED = re.compile(r"([,;])(?:\s*+[,;])++(\s?)")
_BEFORE_SPACE = re.compile(r"[,;](?=\s)")


def _merged_marks(match: re.Match[str]) -> str:
    """The first of consecutive punctuation marks, in place of all up to the last one that is followed by space."""
    if match[2]:
        return match[1] + match[2]
    run = match[0]
    last = max((mark.start() for mark in _BEFORE_SPACE.finditer(run)), default=0)
    return match[1] + run[last + 1 :]


def _tidy(text: str) -> str:
    """Normalizes whitespace, and removes the remains of omitted citations."""
    paragraphs = []
    for raw in text.split(_BREAK):
        parts = re.split(r"(\$[^$]*\$)", raw.strip())
        for index in range(0, len(parts), 2):
            part = re.sub(r"\s+", " ", parts[index])
            part = _EMPTY.sub("", _QUOTES.sub('"', part))
            part = _REPEATED.sub(_merged_marks, part)
            parts[index] = re.sub(r"---", "—", part)
            parts[index] = re.sub(r"(?<!-)--(?!-)", "–", parts[index])
        line = _BEFORE_STOP.sub("", re.sub(r"\s+", " ", "".join(parts))).strip()
        if line:
            paragraphs.append(line)
    return "\n\n".join(paragraphs)


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
LISTINGS = _starred("listing codelisting")
NOT_READ = FLOATS | ALGORITHMS | LISTINGS | _names("thebibliography comment filecontents filecontents* CCSXML")
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
"""The number of braced arguments of macros that leave no text."""
FIRST_SILENT = _names("""
    href bibinfo bibfield textcolor colorbox resizebox scalebox parbox raisebox rotatebox hyperref foreignlanguage
""")
"""Macros whose first argument is a setting and not text."""
