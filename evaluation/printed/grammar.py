r"""Generates papers from a grammar, for comparison with TeX's printed output."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

_LETTERS = "bcdegkmnoprstuvw"  # excludes letters that fonts combine into ligatures
_ENCODINGS = {
    "utf-8": ("utf8", "éüßø"), "utf-8-sig": ("utf8", "éüß"), "latin-1": ("latin1", "éüß"), "cp1252": ("ansinew", "éüœ"),
}  # fmt: skip
_TEMPLATE = r"""\documentclass[CLASS]{article}
\usepackage[ENCODING]{inputenc}\usepackage[T1]{fontenc}\usepackage{lmodern,amsmath,amsthm,etoolbox,ifthen,ifdraft}
\usepackage{environ,xcolor,import,algorithm,algpseudocode,multicol,tcolorbox,comment}
\usepackage[final,commandnameprefix=ifneeded]{changes}
\hyphenpenalty=10000 \exhyphenpenalty=10000 \tolerance=9999 \emergencystretch=9em
\newtheorem{theorem}{Theorem}\newtheorem{remark}[theorem]{Remark}
SETTINGS
\begin{document}
\title{A Title of %s}\author{Ada Lind}\maketitle
\begin{abstract}We give %s.\end{abstract}
\section{The %s}
BODY
\end{document}
After the end, %s.
"""


def _patterns(text: str) -> tuple[str, ...]:
    """Splits a table into patterns. `;;` separates two patterns, and `¶` is a line break inside a pattern."""
    return tuple(each.strip(" ").replace("¶", "\n") for each in text.strip().replace("\n", ";;").split(";;"))


_SENTENCES = _patterns(r"""
The %s is here. ;; We see %s and go on. ;; All of %s, % and not %s¶as it stands. ;; A \emph{%s} is 5\% of it.
Here\footnote{A note on %s.} is %s. ;; It is $x = \text{%s}$ in all. ;; \textbf{%s} and {\itshape %s} are two.
%% %s¶The %s stays. ;; The % \iffalse¶%s is \textcolor{red}{%s}.
""")
# Alternatives are separated by `||`.
_PREAMBLE = _patterns(r"""
\newif\iflong || \newif\iflong\longtrue || \newif\iflong\longfalse
\newif\ifshort || \newif\ifshort \shorttrue ;; \newif\iflate
\newtoggle{camera} || \newtoggle{camera}\toggletrue{camera} || \newtoggle{camera}\settoggle{camera}{true}
\newbool{arxiv} || \newbool{arxiv}\booltrue{arxiv} || \newboolean{arxiv}\setboolean{arxiv}{true}
\def\blind{0} || \newcommand{\blind}{1} ;; \newcommand{\pages}{9} || \def\pages{8}
\newcommand\version{full} || \newcommand{\version}{short} ;; \newcommand{\fullversion}{full}
% || \newcommand{\secret}{1} || %\newcommand{\secret}{1} ;; \def\mode{0} || \newcommand{\mode}{1}
\long\def\versions#1#2{\iflong #1\else #2\fi}
\newcommand{\onlylong}[1]{\iflong #1\fi} ;; \newcommand{\hide}[1]{} ;; \newcommand{\shown}[1]{#1}
\excludecomment{outside}\includecomment{inside} ;; \NewEnviron{dropped}{} ;; \newcommand{\secdir}{sections}
% || \AtBeginDocument{\longtrue} || \makeatletter\@ifundefined{iflong}{}{\longtrue}\makeatother
""")
_CONDITIONS = _patterns(r"""
\iflong %a\else %b\fi ;; \ifshort¶%a¶\fi %b ;; \iffalse %a\fi ;; \iftrue %a\else %b\fi
\if0\blind %a\else %b\fi ;; \if0¶%a¶\fi ;; \if 01%a\else %b\fi ;; \ifnum\pages>8 %a\else %b\fi
\ifnum 1=1 %a\fi ;; \ifodd\pages %a\else %b\fi ;; \ifx\version\fullversion %a\else %b\fi
\ifx\secret\undefined %a\else %b\fi ;; \ifdefined\secret %a\else %b\fi ;; \unless\iflong %a\else %b\fi
\ifcase\mode\relax %a\or %b\fi ;; \iftoggle{camera}{%a}{%b} ;; \nottoggle{camera}{%a}{%b}
\ifbool{arxiv}{%a}{%b} ;; \notbool{arxiv}{%a}{%b} ;; \ifthenelse{\boolean{long}}{%a}{%b}
\ifthenelse{\equal{\version}{full}}{%a}{%b} ;; \ifthenelse{\NOT \boolean{short}}{%a}{%b}
\ifthenelse{\pages > 8}{%a}{%b} ;; \ifdef{\secret}{%a}{%b} ;; \ifundef{\secret}{%a}{%b}
\ifcsdef{secret}{%a}{%b} ;; \makeatletter\@ifundefined{secret}{%a}{%b}\makeatother
\IfFileExists{absent.tex}{%a}{%b} ;; \ifdraft{%a}{%b} ;; \versions{%a}{%b} ;; \onlylong{%a} ;; \hide{%a}
\shown{%a} ;; \begin{comment}¶%a¶\end{comment}¶%b ;; \begin{outside}¶%a¶\end{outside}¶%b
\begin{inside}¶%a¶\end{inside}¶ ;; \begin{dropped}%a\end{dropped} ;; \deleted{%a} ;; \added{%a}
\replaced{%a}{%b} ;; \iflong\ifshort %a\else %b\fi\fi ;; \iffalse \iftrue %a\else\fi %b\fi
\iffalse¶\else %a\fi
""")
# These settings are used only outside groups. TeX reverts them at the end of a group, but the parser ignores scopes.
_SETTINGS = _patterns(r"""
\latetrue\iflate %a\fi ;; \latefalse\iflate %a\else %b\fi ;; \toggletrue{camera}\iftoggle{camera}{%a}{%b}
\renewcommand{\version}{short}\ifthenelse{\equal{\version}{short}}{%a}{%b} ;; \let\secret\undefined %a
\renewcommand{\shown}[1]{}\shown{%a}%b ;; \renewcommand{\onlylong}[1]{\iflate #1\fi}\onlylong{%a}
""")
# The arguments of these commands must not contain paragraph breaks.
_SHORT = ("\\deleted", "\\added", "\\replaced")
_ENVIRONMENTS = _patterns(r"""
center ;; quote ;; theorem ;; theorem}[Title] ;; remark ;; proof ;; minipage}{0.8\linewidth} ;; multicols}{2}
tcolorbox}[title=Note] ;; sloppypar ;; flushleft
""")
_FLOATS = _patterns(r"""
\begin{figure}¶\fbox{A %x panel}¶\caption{The %s of it.}¶\end{figure}
\begin{table}[t]\caption{Of %s.}\begin{tabular}{ll}%s & %s \\ \hline %s & $a$ \\\end{tabular}\end{table}
\begin{center}\begin{tabular}{ll}%s & %s \\ \hline %s & $a$ \\\end{tabular}\end{center}
\begin{algorithm}\caption{%s sampling}\begin{algorithmic}[1]¶\Require %s¶\For{each %s}¶\State keep %s \Comment{%s}¶\EndFor¶\If{%s}\State %s\Else\State %s\EndIf¶\end{algorithmic}\end{algorithm}
""")  # noqa: E501
_HEADINGS = (r"\section{On %s}", r"\subsection*{Of %s}", r"\paragraph{%s.}", r"\subsubsection[short]{The %s}")
_INPUTS = (r"\input{%p}", r"\input{%p.tex}", "\\input %p ", r"\InputIfFileExists{%p}{}{}")
_SAVED = (r"\newcommand{%n}{The %s is saved.}", r"\def%n{The %s is saved.}", r"\newcommand%n[0]{The %s is saved.}")
_USES = (r"%n", r"%n{}", "", r"\let%nc%n %nc", r"{\bfseries %n}")


@dataclass(frozen=True)
class Paper:
    """Maps each file's path to its text (`main.tex` is the main file), and each word to the constructs around it."""

    files: dict[str, bytes]
    constructs: dict[str, tuple[str, ...]]


@dataclass
class Writer:
    """Writes a paper. `within` contains the constructs around the current text."""

    random: Random
    accents: str
    files: dict[str, str] = field(default_factory=dict)
    constructs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    within: list[str] = field(default_factory=list)

    @property
    def enclosed(self) -> bool:
        """Returns whether the current text is in an argument or a box, neither of which allows verbatim text or
        floats."""
        return any("{…" in each or each in ("environments", "floats") or "dropped" in each for each in self.within)

    def one(self, *options: str) -> str:
        return self.random.choice(options)

    def word(self, kind: str) -> str:
        n, letters = len(self.constructs), ""
        for _ in range(4):
            letters, n = _LETTERS[n % 16] + letters, n // 16
        accent = self.random.choice(self.accents) if self.random.random() < 0.2 else ""
        word = f"z{kind}{letters}{accent}z"
        self.constructs[word] = tuple(self.within)
        return word

    def filled(self, text: str) -> str:
        """Replaces each `%s` in the text with a new word, and each `%x` with a new word inside the body of a float."""
        return re.sub(r"%([sx])", lambda match: self.word("x" if match[1] == "x" else "q"), text)

    def sentence(self) -> str:
        verbatim = [r"By \verb|\iffalse| it is %s."] * (not self.enclosed and "conditions" not in self.within)
        return self.filled(self.one(*verbatim, *_SENTENCES))

    def text(self, depth: int) -> str:
        """Returns sentences and blocks nested up to `depth`, or a single sentence if the depth is below 0."""
        if depth < 0:
            return self.sentence()
        out = []
        for _ in range(self.random.randint(1, 3)):
            if not depth or self.random.random() > 0.75:
                out.append(self.sentence())
                continue
            make = self.random.choice(BLOCKS)
            self.within.append(make.__name__)
            out.append(make(self, depth - 1))
            self.within.pop()
        return self.one("\n\n", "\n\n", "\n").join(out)

    def named(self, construct: str, depth: int) -> str:
        self.within.append(construct)
        inner = self.text(depth)
        self.within.pop()
        return inner


def conditions(w: Writer, depth: int) -> str:
    """Returns text inside a condition whose value is set by the document."""
    settings = () if w.enclosed or "lists" in w.within else _SETTINGS
    # TeX tokenizes the whole argument before a `\makeatletter` inside it takes effect.
    unfit = ("\\begin", "\\makeatletter") if w.enclosed else ()
    pattern = w.one(*settings, *(each for each in _CONDITIONS if not any(name in each for name in unfit)))
    name, depth = re.sub("%[ab]", "…", pattern), -1 if any(each in pattern for each in _SHORT) else depth
    yes, no = w.named(name, depth), w.named(name, depth)
    return pattern.replace("%a", yes).replace("%b", no)


def environments(w: Writer, depth: int) -> str:
    nested = "multicols" in w.within  # a nested multicols environment loses footnotes
    begin = w.one(*(each for each in _ENVIRONMENTS if not (nested and "multicols" in each)))
    name = begin.partition("}")[0]
    return f"\\begin{{{begin}{'' if '}' in begin else '}'}\n{w.named(name, depth)}\n\\end{{{name}}}"


def lists(w: Writer, depth: int) -> str:
    name = w.one("itemize", "enumerate", "description")
    items = [
        f"\\item{w.filled('[%s]') if name == 'description' else ''} {w.sentence()} {w.named(name, depth)}\n"
        for _ in "ab"
    ]
    return f"\\begin{{{name}}}\n{''.join(items)}\\end{{{name}}}"


def floats(w: Writer, depth: int) -> str:
    """Returns a figure with text, a table or an algorithm, each with a caption."""
    return lists(w, depth) if w.enclosed else w.filled(w.one(*_FLOATS))


def headings(w: Writer, depth: int) -> str:
    return f"\n\n{w.filled(w.one(*_HEADINGS))}\n{w.text(depth)}"


def displays(w: Writer, depth: int) -> str:
    del depth
    name = w.one("equation", "align*", "gather")
    return w.filled(f"Let\n\\begin{{{name}}}\nx = 1 \\quad \\text{{for %s}}\n\\end{{{name}}}\nwhere %s holds.")


def inputs(w: Writer, depth: int) -> str:
    """Returns text in a separate file. TeX may skip part of the file."""
    name, folder = f"part{len(w.files)}", w.one("", "", "sections/", "deep/er/")
    path = f"{folder}{name}"
    w.files[f"{path}.tex"] = ""  # this reserves the path
    w.files[f"{path}.tex"] = w.text(depth) + w.filled(w.one("", "", "\n\\endinput\nThe %s is beyond.", "\n% %s")) + "\n"
    forms = [form.replace("%p", path) for form in _INPUTS]
    forms += [f"\\import{{{folder}}}{{{name}}}"] if folder else []
    forms += [f"\\input{{\\secdir/{name}}}"] if folder == "sections/" else []
    return w.one(*forms)


def macros(w: Writer, depth: int) -> str:
    """Returns text in a macro that is used at most once."""
    del depth
    name = "\\saved" + "".join(_LETTERS[int(digit)] for digit in str(len(w.constructs)))
    return w.filled(f"{w.one(*_SAVED)}\n{w.one(*_USES)}").replace("%n", name)


BLOCKS: Sequence[Callable[[Writer, int], str]] = (
    conditions, conditions, conditions, conditions, environments, lists, floats, headings, displays, inputs, inputs,
    macros,
)  # fmt: skip


def paper(seed: int) -> Paper:
    random = Random(seed)
    encoding = random.choice(["utf-8", "utf-8", *_ENCODINGS])
    option, accents = _ENCODINGS[encoding]
    w = Writer(random, accents)
    frame = w.filled(_TEMPLATE).replace("CLASS", w.one("10pt", "twocolumn", "draft")).replace("ENCODING", option)
    settings = "\n".join(w.one(*each.split(" || ")) for each in _PREAMBLE)
    main = frame.replace("SETTINGS", settings).replace("BODY", "\n\n".join(w.text(3) for _ in range(3)))
    ends = w.one("\n", "\n", "\r\n")
    plain = {"main.tex": main, **w.files}
    coded = {name: text.replace("\n", ends).encode(encoding.removesuffix("-sig")) for name, text in plain.items()}
    if encoding.endswith("-sig"):
        coded["main.tex"] = b"\xef\xbb\xbf" + coded["main.tex"]
    return Paper(coded, w.constructs)
