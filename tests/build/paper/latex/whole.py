"""Generates LaTeX papers in which every word is unique, to check that prompts contain each word once and in order."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

# Words that LaTeX itself prints.
PRINTED = frozenset(
    "Algorithm Figure Table Theorem Lemma Proof Equation Section Footnote for end if else while return Require Ensure "
    "Input Output repeat until in and as see by line Remark Assumption to".split()
)


@dataclass
class Writer:
    """Makes words that occur nowhere else. `words` contains the words that must be read, in order."""

    words: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    count: int = 0

    def word(self) -> str:
        letters, n = "", self.count
        for _ in range(5):
            letters, n = chr(ord("a") + n % 26) + letters, n // 26
        self.count += 1
        return f"q{letters}z"

    def read(self) -> str:
        word = self.word()
        self.words.append(word)
        return word

    def words_of(self, n: int) -> str:
        return " ".join(self.read() for _ in range(n))


SPACING = (
    "", r"\vspace{-2mm}", r"\vspace*{0.5em plus 1pt}", r"\hspace{-1mm}", r"\hspace*{10pt}", r"\vskip 10pt",
    r"\vskip -0.1in", r"\looseness=-1", r"\clubpenalty 10000", r"\advance\leftskip by 2em", r"\hbox to 3cm{}",
    r"\vskip\baselineskip", r"\smallskip", r"\medskip\noindent", r"\small", r"\footnotesize", r"\centering",
    r"\setlength{\tabcolsep}{3pt}", r"\setlength\tabcolsep{10pt}", r"\addtolength\parskip{-.5ex}",
    r"\renewcommand{\arraystretch}{1.2}", r"\fontsize{9pt}{10pt}\selectfont", r"\clearpage", r"\quad", r"\hfill",
    r"\linespread{0.9}",
    r"\needspace{5\baselineskip}", r"\abovedisplayskip=3pt", r"\customgap{3pt}", r"\vfill\null",
)  # fmt: skip
IN_MATH = (
    "", r"\hspace{-1mm}", r"\!\!", r"\vspace{-2pt}", r"\small", r"\displaystyle", r"\hskip 3pt", r"\quad", r"\;",
    r"\mskip 2mu", r"\footnotesize", r"\kern-1pt", r"\textstyle",
)  # fmt: skip
STYLES = (r"\emph{%s}", r"\textbf{%s}", r"{\it %s}", r"{\small %s}", r"\textcolor{red}{%s}", r"\mbox{%s}", r"{\bf %s}",
          r"\hbox{%s}", r"\underline{%s}", r"{\fontsize{8pt}{9pt}\selectfont %s}", r"\raisebox{2pt}{%s}",
          r"\hyperref[nowhere]{%s}", r"\scalebox{0.9}{%s}", r"\resizebox{2cm}{!}{%s}", r"\parbox{2cm}{%s}", r"\url{%s}",
          r"\texttt{%s}", r"\mine{%s}", r"\lstinline{%s}", r"\textsc{%s}")  # fmt: skip
BOXES = (
    ("", ""), (r"\begin{minipage}{0.49\textwidth}", r"\end{minipage}"),
    (r"\begin{minipage}[t][3cm][c]{.5\linewidth}", r"\end{minipage}"), (r"\begin{small}", r"\end{small}"),
    (r"\begin{center}", r"\end{center}"), (r"\begin{tcolorbox}[colback=blue!5, boxrule=0.5pt]", r"\end{tcolorbox}"),
    (r"\begin{spacing}{0.9}", r"\end{spacing}"), (r"\begin{adjustwidth}{-1cm}{2pt}", r"\end{adjustwidth}"),
    (r"\begin{multicols}{2}", r"\end{multicols}"), (r"\begin{framed}", r"\end{framed}"),
    (r"\begin{mybox}{0.3\textwidth}", r"\end{mybox}"), (r"{\small", "}"), (r"\begin{quote}", r"\end{quote}"),
    (r"\begin{adjustbox}{width=\linewidth}", r"\end{adjustbox}"), (r"\begin{sloppypar}", r"\end{sloppypar}"),
)  # fmt: skip
ALGORITHM_FLOATS = (
    (r"\begin{algorithm}[t]", r"\end{algorithm}"), (r"\begin{algorithm*}[!htb]", r"\end{algorithm*}"),
    (r"\begin{wrapfigure}{r}{0.49\textwidth}", r"\end{wrapfigure}"),
    (r"\begin{wrapfigure}[12]{l}[2pt]{0.5\linewidth}", r"\end{wrapfigure}"),
    (r"\begin{figure*}[t]", r"\end{figure*}"), (r"\begin{figure}[H]", r"\end{figure}"),
    (r"\begin{minipage}{0.49\textwidth}\begin{algorithm}[H]", r"\end{algorithm}\end{minipage}"),
    (r"\begin{tcolorbox}[title=]\begin{algorithm}[H]", r"\end{algorithm}\end{tcolorbox}"),
    (r"\begin{table}[t]", r"\end{table}"),
)  # fmt: skip
TABLE_FLOATS = (
    (r"\begin{table}[t]", r"\end{table}"), (r"\begin{table*}[!htbp]", r"\end{table*}"),
    (r"\begin{wraptable}{r}{0.4\textwidth}", r"\end{wraptable}"), (r"\begin{center}", r"\end{center}"),
    (r"\begin{figure}[b]", r"\end{figure}"), (r"\begin{sidewaystable}", r"\end{sidewaystable}"),
)  # fmt: skip
TABULARS = (
    (r"\begin{tabular}{@{}l|cc@{}}", r"\end{tabular}"), (r"\begin{tabular*}{0.8\textwidth}{lrr}", r"\end{tabular*}"),
    (r"\begin{tabularx}{\linewidth}{X p{2cm} >{\bfseries}c}", r"\end{tabularx}"),
    (r"\resizebox{\textwidth}{!}{\begin{tabular}[t]{lll}", r"\end{tabular}}"),
    (r"\scalebox{0.8}{\begin{tabular}{l*{2}{c}}", r"\end{tabular}}"),
    (r"\begin{adjustbox}{max width=\textwidth}\begin{tabulary}{5cm}{LCR}", r"\end{tabulary}\end{adjustbox}"),
)  # fmt: skip
DISPLAYS = (
    "equation", "equation*", "align", "align*", "gather", "multline", "eqnarray", "displaymath", "flalign",
)  # fmt: skip

draw_spacing = st.sampled_from(SPACING)


@st.composite
def sentences(draw: st.DrawFn, w: Writer) -> str:
    """Returns a paragraph of sentences with layout, styles, formulas, references and a footnote."""
    out, notes = [], []
    for _ in range(draw(st.integers(1, 3))):
        pieces = [w.read().capitalize()]
        w.words[-1] = pieces[0]
        for _ in range(draw(st.integers(1, 4))):
            kind = draw(st.integers(0, 7))
            if kind == 0:
                pieces.append(draw(st.sampled_from(STYLES)) % w.read())
            elif kind == 1:
                pieces.append(draw(draw_spacing) + " " + w.read())
            elif kind == 2:
                pieces.append(f"${draw(st.sampled_from(IN_MATH))} {w.read()}_{{1}}{draw(st.sampled_from(IN_MATH))}$")
            elif kind == 3 and w.labels:
                pieces.append(f"as in~\\cref{{{draw(st.sampled_from(w.labels))}}} {w.read()}")
            elif kind == 4:
                note = w.word()
                notes.append(note)
                pieces.append(rf"{w.read()}\footnote{{{draw(draw_spacing)} {note}.}}")
            elif kind == 5:
                pieces.append(rf"\({w.read()} \in \{{0, 1\}}\)")
            else:
                pieces.append(w.words_of(2))
        out.append(" ".join([*pieces, w.read()]) + ".")
    w.words += notes
    return draw(st.sampled_from((" ", "\n"))).join(out)


@st.composite
def displays(draw: st.DrawFn, w: Writer) -> str:
    """Returns a sentence with a displayed equation."""
    name = draw(st.sampled_from(DISPLAYS))
    head, tail = draw(st.sampled_from(IN_MATH)), draw(st.sampled_from(IN_MATH))
    label = ""
    if "*" not in name and name not in ("displaymath", "multline") and draw(st.booleans()):
        label = f"eq:{w.count}"
        w.labels.append(label)
        label = rf"\label{{{label}}}"
    before = w.read().capitalize()
    w.words[-1] = before
    before = f"{before} {w.words_of(2)}"
    rows = [rf"{head} {w.read()}_{{i}} &= \frac{{{w.read()}}}{{2}}"]
    if name in ("align", "align*", "eqnarray", "flalign"):
        rows.append(rf"{head} {w.read()} &= 3 {tail} \nonumber")
        body = (r" \\[2pt]" + "\n").join(rows)
    else:
        body = rows[0].replace("&", "") + tail
    if draw(st.integers(0, 4)) == 0:
        formula = rf"\[{body.replace('&', '')}\]" if name.startswith("eq") else rf"$${body.replace('&', '')}$$"
        formula = formula.replace(r"\\[2pt]", "")
        if label:
            w.labels.pop()
    else:
        formula = rf"\begin{{{name}}}{label}{body}\end{{{name}}}"
    return f"{before}\n{formula}\n{w.words_of(3)}."


@st.composite
def algorithms(draw: st.DrawFn, w: Writer) -> str:
    """Returns a float with one to three algorithms."""
    begin, end = draw(st.sampled_from(ALGORITHM_FLOATS))
    count = draw(st.integers(1, 3))
    single = count == 1
    parts = []
    for _ in range(count):
        caption = rf"\caption{{{w.words_of(2)}}}"
        if draw(st.booleans()):
            w.labels.append(f"alg:{w.count}")
            caption += rf"\label{{{w.labels[-1]}}}"
        body = draw(
            st.sampled_from((_algorithmic, _algorithm2e)) if single and "algorithm" in begin else st.just(_algorithmic)
        )(w)
        part = f"{draw(draw_spacing)}\n{caption}\n{draw(draw_spacing)}\n{body}"
        if not single and draw(st.booleans()):
            part = rf"\begin{{minipage}}[t]{{0.49\textwidth}}{part}\end{{minipage}}"
        parts.append(part)
    return begin + ("\n" + draw(st.sampled_from(("", r"\hfill", r"\quad")))).join(parts) + end


def _algorithmic(w: Writer) -> str:
    return rf"""\begin{{algorithmic}}[1]
\REQUIRE {w.words_of(2)}
\FOR{{$t = 1$ to ${w.read()}$}}
\STATE {w.read()} $\gets \begin{{cases}} {w.read()} \\ 2 \end{{cases}}$
\IF{{{w.read()}}}
  \STATE {w.words_of(2)} \COMMENT{{{w.read()}}}
\ELSE
  \STATE {w.read()}
\ENDIF
\ENDFOR
\RETURN {w.read()}
\end{{algorithmic}}"""


def _algorithm2e(w: Writer) -> str:
    return rf"""\SetKwInOut{{Given}}{{Input}}\DontPrintSemicolon\SetAlgoLined
\KwIn{{{w.words_of(2)}}}
{w.read()} $\gets 0$\; \tcp*[r]{{{w.read()}}}
\For{{$t \in {w.read()}$}}{{
  {w.words_of(2)}\;
  \eIf{{{w.read()}}}{{
    {w.read()}\;
  }}{{
    {w.read()}\tcp{{{w.read()}}}
  }}
}}
\KwRet{{{w.read()}}}\;"""


@st.composite
def tables(draw: st.DrawFn, w: Writer) -> str:
    """Returns one to three tables in a row. Captions are above, below or absent."""
    out = []
    for _ in range(draw(st.integers(1, 3))):
        begin, end = draw(st.sampled_from(TABLE_FLOATS))
        caption = ""
        floats = "center" not in begin
        if floats and draw(st.booleans()):
            caption = rf"\caption{{{w.words_of(2)} {w.read()}.}}"
            if draw(st.booleans()):
                w.labels.append(f"tab:{w.count}")
                caption += rf"\label{{{w.labels[-1]}}}"
        open_, close = draw(st.sampled_from(TABULARS))
        rows = [
            rf"\toprule \textbf{{{w.read()}}} & \multicolumn{{2}}{{c}}{{{w.read()}}} \\",
            rf"\cmidrule(lr){{2-3}} & {w.read()} & {w.read()} \\[2pt] \hline",
            rf"\multirow{{2}}{{*}}{{{w.read()}}} & ${w.read()} \pm 1$ & \makecell{{{w.read()} \\ {w.read()}}} \\",
            rf"& {w.read()} & \textcolor{{blue}}{{{w.read()}}} \\ \bottomrule",
        ]
        body = "\n".join(rows)
        below = caption and draw(st.booleans())
        if not below:
            out.append(f"{begin}{draw(draw_spacing)}{caption}\n{open_}\n{body}\n{close}{draw(draw_spacing)}\n{end}")
        else:
            # A caption is read before its table, even if it is printed below.
            out.append(f"{begin}{draw(draw_spacing)}\n{open_}\n{body}\n{close}\n{caption}{draw(draw_spacing)}{end}")
    return "\n".join(out)


@st.composite
def figures(draw: st.DrawFn, w: Writer) -> str:
    label = f"fig:{w.count}"
    w.labels.append(label)
    name = draw(st.sampled_from(("figure", "figure*", "wrapfigure")))
    given = "{r}{0.3\\textwidth}" if name == "wrapfigure" else "[t!]"
    return rf"""\begin{{{name}}}{given}
{draw(draw_spacing)}\includegraphics[width=0.5\textwidth,trim={{0 1cm 0 0}}]{{plots/a_b.pdf}}
{draw(draw_spacing)}
\caption{{{w.words_of(3)}.}}\label{{{label}}}
\end{{{name}}}"""


@st.composite
def statements(draw: st.DrawFn, w: Writer) -> str:
    name = draw(st.sampled_from(("theorem", "lemma", "remark", "assumption")))
    label = f"th:{w.count}"
    w.labels.append(label)
    title = f"[{w.read()}]" if draw(st.booleans()) else ""
    body = f"{w.words_of(3)} ${w.read()}$ {w.read()}."
    proof = rf"\begin{{proof}}{draw(draw_spacing)} {w.words_of(3)}.\end{{proof}}" if draw(st.booleans()) else ""
    return rf"\begin{{{name}}}{title}\label{{{label}}}{draw(draw_spacing)} {body}\end{{{name}}}" + "\n" + proof


@st.composite
def lists(draw: st.DrawFn, w: Writer) -> str:
    name = draw(st.sampled_from(("itemize", "enumerate")))
    options = draw(st.sampled_from(("", "[leftmargin=*, itemsep=0pt]", "[noitemsep,topsep=0pt]")))
    items = "\n".join(rf"\item{draw(st.sampled_from(('', draw(draw_spacing))))} {w.words_of(3)}." for _ in range(2))
    return rf"\begin{{{name}}}{options}{items}\end{{{name}}}"


@st.composite
def panels(draw: st.DrawFn, w: Writer) -> str:
    """Returns figures whose parts have separate captions, using three packages, and titled text boxes."""
    kind = draw(st.integers(0, 4))
    if kind == 0:
        one, two, both = w.words_of(2), w.words_of(2), w.words_of(2)
        return rf"""\begin{{figure*}}\begin{{subfigure}}[b]{{0.45\textwidth}}\includegraphics{{a.png}}
\caption{{{one}}}\end{{subfigure}}
\hfill\begin{{subfigure}}{{.45\linewidth}}{draw(draw_spacing)}\caption{{{two}}}\end{{subfigure}}\caption{{{both}}}\end{{figure*}}"""
    if kind == 1:
        return rf"""\begin{{figure}}\subfloat[{w.words_of(2)}]{{\includegraphics[height=2cm]{{a.png}}}}\quad
\subfigure[{w.words_of(2)}]{{\includegraphics{{b.png}}}}\caption{{{w.words_of(2)}}}\end{{figure}}"""
    if kind == 2:
        return rf"""\begin{{figure}}\begin{{minipage}}{{0.5\textwidth}}\captionof{{table}}{{{w.words_of(2)}}}\centering
\begin{{tabular}}{{ll}} {w.read()}
& \begin{{tabular}}[c]{{@{{}}l@{{}}}}{w.read()}\\{w.read()}\end{{tabular}} \\ \end{{tabular}}
\end{{minipage}}\end{{figure}}"""
    if kind == 3:
        return rf"""\begin{{figure}}\fbox{{\begin{{minipage}}{{0.9\columnwidth}}{w.words_of(4)}.
\end{{minipage}}}}
\caption{{{w.words_of(2)}.}}\end{{figure}}"""
    return rf"""\begin{{longtable}}{{p{{2cm}}l}}\caption{{{w.words_of(2)}}}\\
\toprule {w.read()} & {w.read()} \\ \midrule\endhead
{w.read()} & ${w.read()}$ \\ \end{{longtable}}"""


@st.composite
def sections(draw: st.DrawFn, w: Writer) -> str:
    """Returns headings within and above a paragraph, a description, and a code listing."""
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return rf"\paragraph{{{w.words_of(2)}.}} {w.words_of(3)}.\subsubsection*{{{w.words_of(2)}}}{w.words_of(3)}."
    if kind == 1:
        items = rf"\item[{w.words_of(1)}] {w.words_of(3)}.\item[{w.read()}:] {w.read()}."
        return rf"\begin{{description}}{items}\end{{description}}"
    if kind == 2:
        options = r"[language=Python, basicstyle=\small]"
        return f"{w.words_of(2)}:\n\\begin{{lstlisting}}{options}\n{w.read()} {w.read()}\n\\end{{lstlisting}}"
    if kind == 3:
        label = f"eq:{w.count}"
        w.labels.append(label)
        return (
            rf"{w.words_of(2)} \begin{{subequations}}\begin{{align}}\hspace{{-3mm}}{w.read()} &= 1 \label{{{label}}}\\ "
            rf"{w.read()} &= 2 \end{{align}}\end{{subequations}} {w.words_of(2)}."
        )
    return (
        rf"{w.words_of(2)}\be\hspace{{-1mm}}\begin{{split}}{w.read()} &= 2 \\ &\le \text{{{w.read()} $x$}}\end{{split}}"
        rf"\ee {w.words_of(2)}."
    )


BLOCKS = (sentences, displays, algorithms, tables, figures, statements, lists, panels, sections)
PREAMBLE = r"""\documentclass{article}
\usepackage{algorithm,algorithmic,tcolorbox}
\newtheorem{theorem}{Theorem}\newtheorem{lemma}[theorem]{Lemma}
\newtheorem{remark}{Remark}\newtheorem{assumption}{Assumption}
\newcommand{\mine}[1]{\textsf{#1}}\newenvironment{mybox}[1]{\begin{minipage}{#1}}{\end{minipage}}
\renewcommand{\footnotesize}{\@setsize\footnotesize{10pt}\ixpt\@ixpt}
\newcommand{\be}{\begin{equation}}\newcommand{\ee}{\end{equation}}
\begin{document}
\title{Anything}\author{Nobody}\maketitle
"""


@st.composite
def papers(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Returns the source of a paper, and its words in the order in which they must be read."""
    w = Writer()
    blocks = []
    for section in range(draw(st.integers(1, 2))):
        blocks.append(rf"\section{{Part {'AB'[section]}}}")
        for _ in range(draw(st.integers(1, 6))):
            block = draw(draw(st.sampled_from(BLOCKS))(w))
            floating = block.startswith(
                (r"\begin{algorithm", r"\begin{wrap", r"\begin{fig", r"\begin{tab", r"\begin{side")
            )
            begin, end = ("", "") if floating else draw(st.sampled_from(BOXES))
            blocks.append(
                f"{draw(draw_spacing)}\n{begin}\n{block}\n{end}" if begin else f"{draw(draw_spacing)}\n\n{block}"
            )
    return PREAMBLE + "\n\n".join(blocks) + "\n\\end{document}\n", w.words
