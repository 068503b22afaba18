from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build.paper import papers
from xkg.build.paper.document import Document
from xkg.build.paper.files import MemoryReader, PaperFiles
from xkg.build.paper.latex.document import parse_latex
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper
from xkg.build.paper.sentences import sentences


def paper(folder: Path, body: str, preamble: str = "") -> Document:
    path = folder / "p.tex"
    path.write_text(f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n")
    return parse_paper(path)


def outline(document: Document) -> list[tuple[int, str]]:
    return [(section.level, section.title) for section in document.walk()]


@pytest.mark.parametrize(
    ("definition", "heads"),
    [
        (r"\newcommand{\xhdr}[1]{\vspace{1mm}\noindent{\bf #1.}}", True),
        (r"\newcommand{\xhdr}[1]{\smallskip\noindent\textbf{#1}\quad}", True),
        (r"\def\xhdr#1{\par\textit{#1}: }", True),
        (r"\newcommand{\xhdr}[1]{{\bfseries #1.}}", True),
        (r"\newcommand{\xhdr}[1]{\paragraph{#1}}", True),
        (r"\newcommand{\xhdr}[1]{\textbf{#1}}", False),
        (r"\newcommand{\xhdr}[1]{\emph{#1}\xspace}", False),
        (r"\newcommand{\xhdr}[1]{\noindent\textbf{Note to #1}}", False),
    ],
)
def test_a_macro_that_begins_a_paragraph_is_a_heading_whatever_its_name(
    tmp_path: Path, definition: str, heads: bool
) -> None:
    body = "\\section{Method}\nText.\n\n\\xhdr{Temporal encoding} we encode the time with a kernel."
    titles = [title for _, title in outline(paper(tmp_path, body, definition))]
    assert ("Temporal encoding" in titles) is heads


def test_a_whole_paper(tmp_path: Path) -> None:
    document = parse_paper(papers.latex_paper(tmp_path / "paper"))
    assert document.title == "Ember: Warm Restarts for Sparse Probes"
    assert document.authors == ("Ada Lind", "Bo van der Berg")
    assert document.year == 2021
    assert document.abstract == "We present Ember, a way to restart sparse probes. It saves 40% of the steps."
    assert [(s.level, s.title, s.appendix) for s in document.walk()] == [
        (1, "Introduction", False),
        (1, "The Ember Method", False),
        (2, "Warm Restart", False),
        (4, "Choice of the step", False),
        (4, "Stopping rule", False),
        (1, "Experiments", False),
        (1, "Proofs", True),
        (4, "Setup", True),
    ]
    assert [(e.text, e.style) for e in document.emphases] == [
        ("sparse probes", "italic"),
        ("warm restart", "bold"),
        ("cold", "italic"),
    ]
    loss, square = document.equations
    assert loss.label == "eq:loss"
    assert loss.latex == (
        r"\hat w = \operatorname{arg\,min}_{w \in \mathbb{R}^d} \lVert Xw - y \rVert_{2} + \lVert w \rVert_{1}"
    )
    assert square.latex == "a^2 + b^2"
    (algorithm,) = document.algorithms
    assert (algorithm.title, algorithm.label) == ("Warm restart of Ember", "alg:restart")
    assert algorithm.body.split("\n") == [
        "Require: data $X$, steps $T$",
        r"$w \gets 0$ # start cold",
        r"for $t = 1, \ldots, T$",
        r"$w \gets w - \eta \nabla L(w)$",
        "end for",
        "return $w$",
    ]
    assert [r.key for r in document.references] == ["lind2019probes", "berg2020"]
    assert document.warnings == ()


def test_offsets_lead_back_to_files_and_lines(tmp_path: Path) -> None:
    document = parse_paper(papers.latex_paper(tmp_path / "paper"))
    method = next(s for s in document.walk() if s.title == "Warm Restart")
    assert document.place(method.start) == ("sections/method.tex", 9)
    assert document.text[method.start :].startswith(r"\subsection{Warm Restart}")
    assert document.place(document.sections[0].start) == ("main.tex", 12)


def test_readable_text_of_a_section(tmp_path: Path) -> None:
    document = parse_paper(papers.latex_paper(tmp_path / "paper"))
    section = next(s for s in document.sections if s.title == "The Ember Method")
    assert plain(document, section.body_start, section.end).split("\n\n") == [
        "We minimise $" + document.equations[0].latex + r"$ (1) over $w \in \mathbb{R}^d$, as in Section 1.",
        "Warm Restart",
        r"A warm restart sets the step to $\eta_0$; cold ones do not.",
        "Choice of the step. The step is chosen by hand.",
        "Stopping rule. We stop when nothing moves.",
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"A \emph{b} {\bf c} \textcolor{red}{d}\xspace.", "A b c d."),
        (r"na\"ive \v{S}\'i \O{} stra\ss e, \c{c}a", "naïve Ší Ø straße, ça"),
        (r"as in~\cite{a,b}, see (e.g., \citealp{c}; \ref{d}). On", "as in [a] and [b], see (e.g., [d]). On"),
        (r"``quoted'' --- a--b 5\,\% \$3 \& \{x\} \_", '"quoted" — a–b 5 % $3 & {x} _'),
        ("one\n\\cref{x}\ntwo\n\nthree \\par four", "one [x] two\n\nthree\n\nfour"),
        (r"\(x\) and \[ y \label{e} \] and $$z$$", "$x$ and $y$ and $z$"),
        (r"\begin{itemize}\item one \item[\textbf{Two}] two\end{itemize}", "one\n\nTwo two"),
        (r"a\footnote{b {c} $d$} e\thanks{f}", "a e"),
        (r"\href{http://a.b/c%20d}{link} \texorpdfstring{$\alpha$}{alpha}", "link alpha"),
        (r"a \begin{table}\begin{tabular}{c}x\end{tabular}\end{table} b", "a b"),
        (r"cost $ 5 and {open", "cost 5 and open"),
        (r"\vspace{1em}\vskip 10pt\setlength{\parskip}{2pt}text", "text"),
        (r"\section*{Head} \paragraph{Run in} text \paragraph{Why?} so", "Head\n\nRun in. text\n\nWhy? so"),
        (r"\newcommand{\x}{secret} \def\y#1{#1} shown", "shown"),
    ],
)
def test_readable_text(tmp_path: Path, source: str, expected: str) -> None:
    document = paper(tmp_path, source)
    start = document.text.index("\\begin{document}") + len("\\begin{document}")
    end = document.text.index("\\end{document}")
    assert plain(document, start, end) == expected


def test_macros_with_arguments_defaults_and_loops(tmp_path: Path) -> None:
    preamble = r"""\newcommand{\pair}[2][a]{(#1,#2)} \def\loop{x\loop} \let\same\pair \newcommand\bold[1]{\textbf{#1}}
\newcommand{\dist}{\ensuremath{d}\xspace} \renewcommand{\section}{\bad}"""
    document = paper(tmp_path, r"\section{S} \pair{b} \pair[c]{d} \same{e} \loop{} \bold{t} \dist is $\dist$", preamble)
    assert document.macros["pair"] == (2, "(#1,#2)")
    assert document.macro_defaults == {"pair": "a", "same": "a"}
    section = document.sections[0]
    assert plain(document, section.body_start, section.end) == "(a,b) (c,d) (a,e) x t $d$ is ${d}$"


def test_headings_behind_macros_and_environments_behind_macros(tmp_path: Path) -> None:
    preamble = r"""\newcommand{\mysec}[1]{\vspace{-1pt}\section{#1}\label{s}}
\newcommand{\parhead}[1]{\smallskip\noindent{\bf #1}} \newcommand{\be}{\begin{equation}} \def\ee{\end{equation}}"""
    body = "\\mysec{One}\ntext \\be a=b \\ee\n\n\\parhead{Two.} More text here.\n"
    document = paper(tmp_path, body, preamble)
    assert outline(document) == [(1, "One"), (4, "Two")]
    assert [e.latex for e in document.equations] == ["a=b"]


@pytest.mark.parametrize(
    ("macro", "use"),
    [
        (r"\newcommand{\ssec}[2]{\subsection{#1}\label{sec:#2}}", r"\ssec{One}{one}"),
        (r"\newcommand{\ssec}[2]{\subsection{#2}\label{#1}}", r"\ssec{one}{One}"),
        (r"\newcommand{\ssec}[2][x]{\subsection[#1]{#2}}", r"\ssec[o]{One}"),
    ],
)
def test_a_macro_of_a_heading_and_its_label_is_a_heading(tmp_path: Path, macro: str, use: str) -> None:
    document = paper(tmp_path, f"{use}\nText.\n\n{use}\nMore.", macro)
    assert [(s.title, plain(document, s.body_start, s.end)) for s in document.walk()] == [
        ("One", "Text."),
        ("One", "More."),
    ]


def test_an_argument_that_a_heading_does_not_contain_is_text(tmp_path: Path) -> None:
    document = paper(tmp_path, "\\ssec{One}{A motto.} Text.", r"\newcommand{\ssec}[2]{\subsection{#1}\emph{#2}}")
    assert [(s.title, plain(document, s.body_start, s.end)) for s in document.walk()] == [("One", "A motto. Text.")]


@given(st.sampled_from(["trace", "step 2", "part (b)", "Phase iv", "run 2019"]), st.sampled_from(["", "(a) ", "1. "]))
def test_a_run_in_heading_takes_its_number_and_nothing_of_the_sentence_before(last: str, number: str) -> None:
    body = f"\\section{{One}}\nWe keep the {last}.\n\n{number}\\textbf{{Fewer samples.}} They are drawn again."
    document = parse_latex(
        PaperFiles(MemoryReader({"p.tex": f"\\begin{{document}}{body}\\end{{document}}".encode()})), "p.tex"
    )
    head = next(section for section in document.walk() if section.level == 4)
    assert document.text[head.start :].startswith(number + "\\textbf")
    assert [sentence.text for sentence in sentences(document)] == [
        f"We keep the {last}.",
        "They are drawn again.",
    ]


def test_bold_text_that_is_no_heading(tmp_path: Path) -> None:
    body = (
        "\\section{S}\nSome \\textbf{bold words.} follow.\n\n\\textbf{Proof.} Easy.\n\n"
        "\\begin{itemize}\n\\item \\textbf{One.} x\n\\end{itemize}"
    )
    assert outline(paper(tmp_path, body)) == [(1, "S")]


def test_algorithm2e_and_a_lone_algorithmic(tmp_path: Path) -> None:
    body = r"""\begin{algorithm2e}\caption{Algorithm 2: Search}\KwIn{a tree}\KwOut{a leaf}
\While{not done}{
  go left\;
  \eIf{$x$}{stop\;}{go on\;}
}
\end{algorithm2e}
\begin{figure}\begin{algorithmic}\STATE one \IF{two} \STATE three \ENDIF\end{algorithmic}\caption{Loop}\end{figure}"""
    first, second = paper(tmp_path, body).algorithms
    assert first.title == "Search"
    assert first.body.split("\n")[:4] == ["Input: a tree", "Output: a leaf", "while not done", "go left"]
    assert (second.title, second.body) == ("Loop", "one\nif two\nthree\nend if")


def test_unclosed_things_are_told_and_lose_little(tmp_path: Path) -> None:
    body = (
        "\\section{Open\n\nText $ with \\textbf{open\n\n\\begin{equation} x\n\n"
        "\\section{Closed} y\n\\begin{abstract}Short.\n\nMore"
    )
    document = paper(tmp_path, body)
    assert [title for _, title in outline(document)] == ["Open", "Closed"]
    assert any("equation is never closed" in line for line in document.warnings)
    assert "a brace is never closed: {Open" in document.warnings
    assert "a $ is not closed within its paragraph: $ with \\textbf{open" in document.warnings


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\author{Ada Lind, Bo Berg and Cy Cole}", ("Ada Lind", "Bo Berg", "Cy Cole")),
        (r"\author{Ada Lind$^{1,2}$ \\ Univ \\ \And Bo Berg$^*$ \\ MIT}", ("Ada Lind", "Bo Berg")),
        (r"\author[1]{Ada Lind} \author[2]{Bo Berg} \affil[1]{Some Place}", ("Ada Lind", "Bo Berg")),
        (r"\icmlauthor{Ada Lind}{aff} \icmlauthor{Bo Berg}{aff}", ("Ada Lind", "Bo Berg")),
        (r"\author{\IEEEauthorblockN{Ada Lind\inst{1}} \IEEEauthorblockA{Some Street}}", ("Ada Lind",)),
        (
            r"\author{Ada Lind\footnotemark[1], \ Bo Berg\thanks{Equal.}, Cy Cole\footnotemark \\ MIT}",
            ("Ada Lind", "Bo Berg", "Cy Cole"),
        ),
        (r"\author{\Name{Ada Lind} \Email{a@b.c}\\ \addr Two Streets\and \Name{Bo Berg}}", ("Ada Lind", "Bo Berg")),
        (
            r"\author{\name Ada Lind \email a@b.c \\ \addr Rue Bo \AND \name{} Bo Berg \email b@b.c}",
            ("Ada Lind", "Bo Berg"),
        ),
        (r"\author{David S.~Hippocampus\thanks{Use it.} \\ Somewhere \And Natalia Cerebro}", ()),
        (r"\author{Ann Lee \\ Somewhere \And Ji Q. Ren \& Yevgeny LeNet \\ Joburg}", ("Ann Lee",)),
        (r"\author{Ann Lee and \\ Bo Ray --- bo@uni.edu}", ("Ann Lee", "Bo Ray")),
        (
            r"\author{\begin{tabular}{@{}c@{\hspace{4em}}c@{}} Ann Lee & Bo Ray \\ Pine & Oslo\end{tabular}}",
            ("Ann Lee", "Bo Ray"),
        ),
        (r"\author{Anonymous Author \and First Author \and Ada Lind}", ("Ada Lind",)),
        (
            r"\author{\IEEEauthorblockN{1\textsuperscript{st} Ada Lind}\and\IEEEauthorblockN{Bo Berg}}",
            ("Ada Lind", "Bo Berg"),
        ),
        (r"\name[affiliation={1}]{Ada}{Lind} \name[affiliation={1,2}]{Bo}{Berg}", ("Ada Lind", "Bo Berg")),
        (r"\author{\begin{tabular}{c@{\quad}c}Ada Lind & Bo Berg\\ MIT & ETH\end{tabular}}", ("Ada Lind", "Bo Berg")),
        (r"\author{Ada Lind\hspace{1em} Bo Berg~\orcidlink{0000-0001}\\ MIT}", ("Ada Lind", "Bo Berg")),
        ("\\author{A\u0301da Li\u0323nd \\and Bo Berg}", ("Áda Lịnd", "Bo Berg")),
        (r"\author{Paper ID 1234}", ()),
        (r"\author{Ada Lind (MIT \& ETH) \\ Bo Berg (Rome)}", ("Ada Lind", "Bo Berg")),
        (r"\author{Lind, A. B. and van der Berg, Bo \\ Oxford, England}", ("A. B. Lind", "Bo van der Berg")),
        (r"\author{Ada Lind, Jr., Bo Berg, III}", ("Ada Lind Jr.", "Bo Berg III")),
        (r"\author{José Ortega y Gasset, Ada Lind und Bo Berg}", ("José Ortega y Gasset", "Ada Lind", "Bo Berg")),
        (r"\author{张三$^1$，李四$^2$ \\ 清华大学}", ("张三", "李四")),
        (r"\author{Ada Lind\corref{cor}\fnref{fn}} \author{Bo Berg\thanksref{a}}", ("Ada Lind", "Bo Berg")),
        (
            r"\authors{Ada Lind,\aff{a}\correspondingauthor{Ada Lind, a@b.c} Bo Berg,\aff{b} and Cy Cole\aff{a,b}}",
            ("Ada Lind", "Bo Berg", "Cy Cole"),
        ),
        (r"\authors{Ada Lind\affil{1}, Bo Berg\affil{1,2}}", ("Ada Lind", "Bo Berg")),
        (r"\titulo{Maré}\autor{Ada Lind}", ("Ada Lind",)),
        (r"\author{Ada Lind\thanks{a}\\ Some Institute\\ and \\ Bo Berg \\ Some Street}", ("Ada Lind", "Bo Berg")),
        (r"\author[id=a]{\inits{A}\fnm{Ada} \snm{Lind}}", ("Ada Lind",)),
        (
            r"\author{Ada Lind \quad Cy Cole\\Institute of Rivers \and Bo Berg\\Wendel Robotics}",
            ("Ada Lind", "Cy Cole", "Bo Berg"),
        ),
    ],
)
def test_authors(tmp_path: Path, source: str, expected: tuple[str, ...]) -> None:
    assert paper(tmp_path, "x", source).authors == expected


@pytest.mark.parametrize(
    "source",
    [
        "\\section*{Abstract}We propose it.",
        "\\noindent\\textbf{Abstract.} We propose it.",
        "\\begin{center}\\textbf{Abstract}\\end{center}We propose it.",
        "\\Abstract{We propose it.}",
        "\\twocolumn[\\begin{onecolabstract}We propose it.\\end{onecolabstract}]",
        "\\section*{Summary}We propose it.",
        "\\newenvironment{mine}{\\begin{abstract}}{\\end{abstract}}\\begin{mine}We propose it.\\end{mine}",
        "\\newenvironment{m}[1][x]{\\begin{quote}\\textbf{Abstract:}}{\\end{quote}}\n\\begin{m}We propose it.\\end{m}",
        "\\NewDocumentEnvironment{m}{o}{\\begin{abstract}}{\\end{abstract}}\n\\begin{m}We propose it.\\end{m}",
        "\\newenvironment{m}[1]{\\section*{Abstract}\\textbf{#1}}{}\n\\begin{m}{2020-A}We propose it.\\end{m}",
        "\\renewenvironment{summary}{\\section*{\\abstractname}}{}\n\\begin{summary}We propose it.\\end{summary}",
    ],
)
def test_an_abstract_without_its_environment(tmp_path: Path, source: str) -> None:
    assert paper(tmp_path, f"{source}\n\\section{{One}}\nRivers.").abstract == "We propose it."


@pytest.mark.parametrize(
    "front",
    [
        r"\begin{center}{\LARGE\bf Ring\\ Sampling}\\[1em] Ann Lee, Bo Ray\\ University of Oslo\end{center}",
        r"\begin{titlepage}\centering{\Huge\bfseries Ring Sampling}\vfill{\Large Ann Lee \& Bo Ray\par}\end{titlepage}",
        "\\begin{center}\n\\Large \\textbf{Ring\\\\ Sampling}\n\n\\normalsize Ann Lee \\quad Bo Ray\n\\end{center}",
        r"{\Large A Report}\\ \textbf{{\Huge Ring}}\\ \textbf{{\Huge Sampling}} \vfill by Ann Lee, Bo Ray \vfill 2024",
        r"\centerline{\Large\bf Ring Sampling} \bigskip \centerline{Ann Lee$^1$ and Bo Ray$^2$}",
        r"{\Huge\bfseries Ring\\ Sampling\\} \vfill Dissertation\\ University of Oslo\\ by\\ Ann Lee, Bo Ray",
        r"\title{Instructions for Authors}\title{Ring Sampling}\author{Ann Lee and Bo Ray}\maketitle\title{Proofs}",
    ],
)
def test_a_title_page_without_commands_for_it(tmp_path: Path, front: str) -> None:
    document = paper(tmp_path, front + r" \begin{abstract}We. {\Large Big.}\end{abstract} \section{Introduction} Text.")
    assert (document.title, document.authors) == ("Ring Sampling", ("Ann Lee", "Bo Ray"))


def test_large_text_of_a_section_is_no_title(tmp_path: Path) -> None:
    assert paper(tmp_path, r"\section{Introduction} {\Large Ring Sampling} is a method.").title == ""


def test_citations_that_are_words_of_a_sentence_stay(tmp_path: Path) -> None:
    body = r"""\begin{abstract}Proposed by \citet{one}.\end{abstract}\section{A}
As \citet[see][]{one,two} and \citeauthor{two} say \citep{one}, \citet{gone} agrees.

\cite{one} show it. We follow \cite{one} here, as others \cite{one}. (See \cite{one}.)
\begin{thebibliography}{2}\bibitem[Lind(2001)]{one} A. Lind. Probes. 2001.
\bibitem[Berg and Cole(2002)]{two} B. Berg, C. Cole. Nets. 2002.\end{thebibliography}"""
    document = paper(tmp_path, body)
    assert document.abstract == "Proposed by Lind (2001)."
    section = document.sections[0]
    cited, needed = plain(document, section.body_start, section.end).split("\n\n")[:2]
    assert cited == "As Lind (2001) and Berg and Cole (2002) and Berg and Cole say, [gone] agrees."
    assert needed.startswith("Lind (2001) show it. We follow Lind (2001) here, as others.")


def test_an_accent_over_a_macro_without_its_arguments_is_left_out() -> None:
    assert latex_text(r"one \`{\href} two \'e") == "one two é"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a,, b", "a, b"),
        ("a, ; , b", "a, b"),
        ("a,,b", "a,,b"),
        ("a (e.g., , see ; and cf.) b", "a b"),
        ("a (e.g. this) b", "a (e.g. this) b"),
    ],
)
def test_what_dropped_citations_leave_behind(text: str, read: str) -> None:
    assert latex_text(text) == read


def test_references_read_as_they_are_printed(tmp_path: Path) -> None:
    body = r"""\section{A}\label{s} As shown in~\ref{s}, the dual of \eqref{d} is \cref{alg,t,f};
line~\ref{l} of \autoref{alg}.
\begin{align} a &= b \nonumber \\ c &= d \label{d} \end{align}
\begin{algorithm}\caption{Go}\label{alg}
\begin{algorithmic}\STATE one \STATE two \label{l}\end{algorithmic}\end{algorithm}
\begin{table}\caption{T}\label{t}\end{table}
\begin{figure}\caption{F}\end{figure}\begin{figure}\caption{F}\label{f}\end{figure}
\appendix\section{B}\subsection{C}\label{c} See \cref{c} and \ref{gone}."""
    document = paper(tmp_path, body)
    first, last = document.sections
    assert plain(document, first.body_start, first.end).startswith(
        "As shown in 1, the dual of (1) is Algorithm 1, Table 1 and Figure 2; line 2 of Algorithm 1."
    )
    assert plain(document, last.children[0].body_start, last.end) == "See Appendix A.1 and [gone]."


def test_formulas_are_valid_without_their_environment(tmp_path: Path) -> None:
    preamble = r"""\newcommand{\F}{\mathcal{F}}\renewcommand{\d}{\mathrm{d}}\newcommand{\T}[2]{T_{#2}(#1)}
\DeclarePairedDelimiter\abs{\lvert}{\rvert}"""
    body = r"""\section{A} $\hat \F \d x$ \[ \T{\T{f}{a}}{b} \]
\begin{align}\hspace{-1mm}x &= \abs{y}\\ z &\text{ if $z>0$}\end{align}"""
    document = paper(tmp_path, body, preamble)
    section = document.sections[0]
    assert plain(document, section.body_start, section.end) == (
        r"$\hat {\mathcal{F}} \mathrm{d} x$ $T_{b}(T_{a}(f))$ "
        r"$\begin{aligned} x &= \lvert y \rvert\\ z &\text{ if \(z>0\)} \end{aligned}$"
    )


@pytest.mark.parametrize(
    ("source", "formula"),
    [
        (r"x \phantom{=} y", "x y"),
        (r"T^{a}\phantom{b}_{c}", "T^{a}{}_{c}"),
        (r"\left. \vphantom{\sum_{i}} z \right|", r"\left. z \right|"),
        (r"\phantomsection a = b", "a = b"),
        (r"u \phantom x v \phantom\alpha w", "u v w"),
    ],
)
def test_what_a_formula_leaves_room_for_is_not_read(tmp_path: Path, source: str, formula: str) -> None:
    document = paper(tmp_path, rf"\section{{A}} \[ {source} \]")
    assert document.equations[0].latex == formula


def test_the_text_that_an_environment_of_the_paper_prints(tmp_path: Path) -> None:
    preamble = (
        r"\NewEnviron{aside}{\begin{quote}A remark: \BODY\end{quote}}"
        r"\newenvironment{reply}[2][Answer]{\par\textbf{#1 to #2.}}{(the end)}"
        r"\NewDocumentEnvironment{hint}{m}{\textbf{Hint on #1.}}{}"
    )
    document = paper(
        tmp_path,
        r"\section{A}\begin{aside}it is odd.\end{aside}\begin{reply}{Bo}It is even. \end{reply}"
        r"\begin{hint}{eggs}They roll.\end{hint}",
        preamble,
    )
    section = document.sections[0]
    read = " ".join(plain(document, section.body_start, section.end).split())
    assert read == "A remark: it is odd. Answer to Bo. It is even. (the end) Hint on eggs. They roll."


@pytest.mark.parametrize(
    "preamble",
    [
        r"\newcommand\gate{\@startsection{gate}{2}{0pt}{1ex}{1ex}{\bfseries}}",
        r"\let\saved\section\newcommand{\gate}[1]{\saved{#1}\label{sec:x}}",
    ],
)
def test_headings_by_commands_of_the_paper(tmp_path: Path, preamble: str) -> None:
    document = paper(tmp_path, r"\gate{Gates} They open.", preamble)
    assert [section.title for section in document.walk()] == ["Gates"]


@pytest.mark.parametrize(
    ("preamble", "source"),
    [
        (r"\newfloat{protocol}{t}{lop}", r"\begin{protocol}\caption{Gate Swap}STEPS\end{protocol}"),
        (
            r"\newenvironment{alg}[1]{\begin{algorithm}\caption{#1}\begin{algorithmic}}{\end{algorithmic}\end{algorithm}}",
            r"\begin{alg}{Gate Swap}\State swap\State keep\end{alg}",
        ),
    ],
)
def test_algorithms_in_environments_of_the_paper(tmp_path: Path, preamble: str, source: str) -> None:
    steps = r"\begin{algorithmic}\State swap\State keep\end{algorithmic}"
    document = paper(tmp_path, r"\section{A} We swap. " + source.replace("STEPS", steps) + " Then we end.", preamble)
    assert [(a.title, a.body) for a in document.algorithms] == [("Gate Swap", "swap\nkeep")]
    section = document.sections[0]
    assert " ".join(plain(document, section.body_start, section.end).split()).endswith("Then we end.")


def test_titles_and_authors_under_other_commands(tmp_path: Path) -> None:
    source = tmp_path / "main.tex"
    source.write_text(
        r"\documentclass{thesis}\runningtitle{R}\thesistitle{Gates of Rings}\thesisauthor{Ann Lee}\begin{document}"
        r"\section{A}They open.\end{document}"
    )
    document = parse_paper(source)
    assert (document.title, document.authors) == ("Gates of Rings", ("Ann Lee",))
