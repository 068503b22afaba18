"""Checks that text which LaTeX does not print is not read. The expected words are those that pdfTeX prints."""

import re

import pytest

from tests.build.paper.latex.tex.test_flatten import flat

PREAMBLE = r"""\documentclass[11pt,draft]{article}
\newif\iflong
\longtrue
\newif\ifshort \shorttrue
\newcommand{\makelong}{\shortfalse}
\newcommand{\blind}{0}
\def\mode{2}
\newtoggle{extra}\togglefalse{extra}
\newboolean{camera}\setboolean{camera}{true}
\excludecomment{internal}
\newenvironment{hide}{\comment}{\endcomment}
\NewEnviron{notes}{}
\begin{document}
"""


@pytest.mark.parametrize(
    "source",
    [
        r"\iflong kept \ifshort kept \else gone \fi \else gone \ifshort gone\fi\fi",
        "\\if0\\blind\nkept\n\\fi \\if1\\blind gone \\else kept \\fi",
        "\\if0\ngone\n\\fi \\if00 kept\\fi \\if 0 gone\\fi",
        r"\iftoggle{extra}{gone {\bf gone}}{kept} \nottoggle{extra}{kept}{gone}",
        r"\ifthenelse{\boolean{camera}}{kept}{gone} \ifthenelse{\NOT \boolean{camera}}{gone}{kept}",
        r"\ifthenelse{\equal{\mode}{2}}{kept}{gone} \ifthenelse{1>2}{gone}{kept} \ifcamera kept\fi",
        r"\ifnum\mode=1 gone \else kept \fi \ifnum1>0 kept\fi",
        r"\begin{internal}gone\end{internal}\begin{hide}gone\end{hide}\begin{notes}gone\end{notes}\begin{comment}gone\end{comment}",
        r"\deleted[id=a]{gone} \added{kept} \replaced{kept}{gone}",
        r"\chdeleted[id=a]{gone} \chadded{kept} \chreplaced[id=a]{kept}{gone}",
        r"\iffalse gone \if0 gone \fi gone \fi kept $a \iff b$",
        r"\ifdraft{kept}{gone} \iftrue kept \else gone \fi \unless\iflong gone \else kept \fi",
        "\\longfalse \\iflong gone % \\fi\n gone \\fi kept",
        r"\iflong{\bf kept}\else{gone}\fi \ifx\mode\blind gone\else kept\fi",
        r"\IfFileExists{none}{gone}{kept} \InputIfFileExists{part}{kept}{gone} \InputIfFileExists{none}{gone}{kept}",
        r"\iffalse gone\fi \newif\iflate \iflate{gone}\else{kept}\fi",
        r"\ifdefined\mode kept\else gone\fi \ifdefined\absent gone\else kept\fi \ifdef{\absent}{gone}{kept}",
        r"\ifcsdef{mode}{kept}{gone} \makeatletter\@ifundefined{absent}{kept}{gone}\makeatother",
        r"\let\mode\undefined \ifx\mode\undefined kept\else gone\fi \ifundef\mode{kept}{gone}",
        r"\ifcase\mode gone\or gone\or kept\else gone\fi \ifcase 9 gone\or gone\else kept\fi \ifodd\mode gone\fi",
        r"\newcommand{\opt}[2]{#2}\opt{gone}{kept}",
        r"\newcommand{\cut}[1]{} \cut{gone} \newcommand{\pick}[2]{\iflong #1\else #2\fi} \pick{kept}{gone}",
        r"\newcommand{\some}[1]{#1} \some{kept} \renewcommand{\some}[1]{}\some{gone} \let\any\some \any{gone}",
        r"{\toggletrue{extra} kept}\iftoggle{extra}{gone}{kept} and {\bf\longfalse}\iflong kept\else gone\fi",
        r"\begin{center}\longfalse\iflong gone\fi\end{center}\iflong kept\fi",
        r"\includecomment{more}\begin{more}\longfalse\end{more}\iflong gone\fi kept",
        r"{\global\longfalse kept}\iflong gone\fi \ifthenelse{1>0}{\longtrue}{\longfalse}\iflong kept\fi",
        r"{\def\mode{1}\ifnum\mode=2 gone\fi}\ifnum\mode=2 kept\fi",
        r"\excludeversion{proofs}\begin{proofs}gone\end{proofs} \makeatletter\let\cut\@gobble \cut{gone} kept",
        r"kept \end{document} gone \end{document} gone",
        r"\csname iflong\endcsname kept\else gone\fi \csname longfalse\endcsname\iflong gone\fi",
        r"\iffalse gone \csname iflong\endcsname gone\fi gone\fi \csname ifshort\endcsname kept\fi",
        r"\ifodd\x kept \else kept \fi \ifunheard kept \else kept \fi",
        r"\NewDocumentCommand{\cut}{O{a} +m}{} \cut[b]{gone} \newcommand{\also}[2][a]{\cut{#2}} \also[b]{gone} kept",
        r"\newenvironment{on}{\iflong\expandafter\comment\fi}{} \begin{on}gone\end{on} \newcommand{\cut}[1]{\sout{#1}}",
        r"\setcounter{own}{2}\ifnum\value{own}=1 gone\else kept\fi \chardef\own=1 \ifnum\own=2 gone\else kept\fi",
        r"\let\full\relax \ifx\full\relax kept\else gone\fi \csdef{own}{a}\ifcsdef{own}{kept}{gone}",
        r"\expandafter\def\csname own\endcsname{a}\ifdefined\own kept\else gone\fi",
        r"\def\own{mode}\expandafter\@ifundefined\expandafter{\own}{gone}{kept} \DIFadd{kept}\DIFdel{gone}",
        r"\usepackage{trackchanges}\add[A]{kept}\remove[A]{gone}\change[A]{gone}{kept}\annote{kept}{gone}",
    ],
)
def test_only_what_is_printed_is_read(source: str) -> None:
    read = flat({"main.tex": PREAMBLE + source + "\\end{document}", "part.tex": "kept"}).text
    assert "gone" not in read
    assert read.count("kept") == (source + "kept" * ("{part}" in source)).count("kept")


def test_what_is_set_after_a_definition_decides_what_it_prints() -> None:
    preamble = "\\newif\\ifone\\newcommand{\\pick}[2]{\\ifone #1\\else #2\\fi}\n\\onetrue\n\\begin{document}"
    read = flat({"main.tex": preamble + "\\pick{kept \\footnote{kept}}{gone}\\end{document}"}).text
    assert "kept \\footnote{kept}\\end" in read
    assert "gone" not in read


def test_a_condition_that_only_sets_the_layout_is_not_said() -> None:
    assert not flat({"main.tex": PREAMBLE + r"\ifunheard\pagestyle{empty}\fi"}).warnings


@pytest.mark.parametrize(
    ("definition", "call"),
    [
        (r"\newcommand{\pick}[1]{\ifunheard #1\fi}", r"\pick"),
        (r"\newcommand{\pick}[2]{\csname if#1\endcsname #2\fi}", r"\pick{long}"),
        (r"\newcommand{\pick}[3][2]{\ifthenelse{\equal{\mode}{#1}}{#2}{#3}}", r"\pick[2]{gone}"),
        (r"\newcommand{\pick}[2]{\ifblank{#1}{#2}{}}", r"\pick{long}"),
        (r"\NewDocumentCommand{\pick}{s +m}{\IfBooleanF{#1}{#2}}", r"\pick*"),
        (r"\NewDocumentCommand{\pick}{O {} m}{\bool_if:NT \l_own_bool {#2}}", r"\pick[a]"),
    ],
)
def test_a_macro_whose_condition_has_no_value_is_said_if_it_has_a_text(definition: str, call: str) -> None:
    macro = PREAMBLE.replace("\\begin{d", definition + "\\begin{d")
    found = flat({"main.tex": macro + call + r"{A sentence of more than four words.} " + call + "{a}"})
    (said,) = found.warnings
    assert re.search(r"it is unknown whether \\pick prints its text", said)
    assert "A sentence of more than four words." in found.text
    assert not flat({"main.tex": macro + call + "{a}"}).warnings


def test_conditions_that_never_end_keep_their_text() -> None:
    for source in (r"\iflong kept", r"\iffalse kept", r"\iftoggle{extra}{kept", r"\if0", r"\begin{internal} kept"):
        assert flat({"main.tex": PREAMBLE + source}).text.endswith(source)


@pytest.mark.parametrize(
    ("preamble", "name"),
    [
        (r"\newcommand{\dir}{sections}", r"\dir/x"),
        (r"\newcommand{\here}{.}\newcommand{\dir}{\here/sections}", r"\dir/x"),
        (r"\def\dir{sections/}", r"\dir x"),
        (r"\makeatletter\def\input@path{{other/}{sections/}}\makeatother", "x"),
        ("", r"sections/\jobname-x"),
    ],
)
def test_inputs_with_macros_in_their_path_are_found(preamble: str, name: str) -> None:
    files = {"main.tex": preamble + rf"\input{{{name}}}", "sections/x.tex": "INSIDE", "sections/main-x.tex": "INSIDE"}
    assert "INSIDE" in flat(files).text


@pytest.mark.parametrize("source", [r"\input{\unheard/x}", r"\foreach \n in {a,b}{\input{s/\n}}"])
def test_an_input_whose_name_cannot_be_known_is_said(source: str) -> None:
    assert "depends on macros" in flat({"main.tex": source, "s/a.tex": "", "s/b.tex": ""}).warnings[0]


@pytest.mark.parametrize("loads", [r"\usepackage{own}", r"\documentclass{own}", r"\documentclass[11pt]{other}"])
@pytest.mark.parametrize(
    ("style", "read"),
    [
        (r"\newif\ifarxiv \arxivtrue", "kept"),
        ("\\newif\\ifarxiv % \\arxivtrue\n", "gone"),
        (r"\newif\ifarxiv \DeclareOption{arxiv}{\arxivtrue}", "kept gone"),  # class options are not processed
        ("\\newif\\ifarxiv \\DeclareOption{arxiv}{%\n  \\arxivtrue\n}", "kept gone"),
        (r"\newif\ifarxiv \ifx\a\b\arxivtrue\fi", "kept gone"),
    ],
)
def test_a_class_or_style_file_of_the_paper_sets_conditions(loads: str, style: str, read: str) -> None:
    main = loads + r"\begin{document}\ifarxiv kept \else gone \fi\end{document}"
    found = flat({"main.tex": main, "own.sty": style, "own.cls": style, "other.cls": r"\LoadClass{own}"})
    assert " ".join(re.findall("kept|gone", found.text)) == read
    assert bool(found.warnings) == (read == "kept gone")


@pytest.mark.parametrize(
    ("options", "read"), [("[long]", "long with"), ("[12pt,long]", "long with"), ("[short]", "short"), ("", "short")]
)
def test_options_of_a_class_decide(options: str, read: str) -> None:
    style = (
        r"\newif\iflong\DeclareOption{long}{\longtrue}\DeclareOption{short}{\longfalse}\DeclareOption*{}"
        r"\ExecuteOptions{short}\ProcessOptions\LoadClass{article}"
    )
    main = rf"\documentclass{options}{{own}}\begin{{document}}\iflong long\else short\fi "
    main += r"\@ifclasswith{own}{long}{with}{}"
    found = flat({"main.tex": main + r" \@ifclassloaded{other}{gone}{}\end{document}", "own.cls": style})
    assert found.text.partition("document}")[2].rpartition("\\end")[0].split() == read.split()
    assert not found.warnings


def test_other_settings_in_a_style_file_decide_too() -> None:
    style = (
        r"\newtoggle{long}\toggletrue{long}\excludecomment{hide}\def\mode{1}\newenvironment{abstract}{\setbox0\vbox}{}"
    )
    main = r"\usepackage{own}\iftoggle{long}{kept}{gone}\begin{hide}gone\end{hide}\ifnum\mode=1 kept\else gone\fi"
    read = flat({"main.tex": main + r"\begin{abstract}kept\end{abstract}", "own.sty": style}).text
    assert "gone" not in read
    assert read.count("kept") == 3


@pytest.mark.parametrize(
    "source",
    [
        r"\newboolean{a}\newboolean{b}\ifthenelse{\boolean{a} \OR \NOT \boolean{b}}{kept}{gone}",
        r"\newboolean{a}\ifthenelse{\isundefined{\own} \AND \boolean{a}}{gone}{kept}",
        r"\NewDocumentEnvironment{hide}{+b}{}{}\begin{hide}gone\end{hide}kept",
        r"\let\pick\@firstoftwo\pick{kept}{gone}",
        r"\let\pick\@secondoftwo\pick{gone}{kept}",
    ],
)
def test_combined_tests_and_macros_of_packages(source: str) -> None:
    found = flat({"main.tex": source})
    assert re.findall("kept|gone", found.text) == ["kept"]
    assert not found.warnings


def test_a_condition_without_a_known_value_is_named_with_its_test() -> None:
    found = flat({"main.tex": r"\begin{document}\iftoggle{venue}{a}{b} \iftoggle{venue}{c}{d}"})
    assert found.warnings == (r"main.tex: the value of \iftoggle{venue} is unknown; both branches are read",)


@pytest.mark.parametrize(
    "condition",
    [
        r"\ifdefempty\own",
        r"\ifdefstring\own{a}",
        r"\expandafter\ifblank\expandafter{\own}",
        r"\notblank{\own}",
        r"\ifnumcomp{1}{>}{2}",
        r"\ifboolexpr{bool{own}}",
        r"\ifoptionfinal",
        r"\iftagged{own}",
        r"\ifunheard{own}",
        r"\bool_if:NTF \l_own_bool ",
        r"\IfBooleanTF{#1}",
    ],
)
def test_conditions_that_are_not_evaluated_keep_both_branches(condition: str) -> None:
    body = (
        rf"\newcommand{{\own}}{{}}\begin{{document}}\iffalse gone {condition}{{gone}}{{gone}}\else\iftrue {condition}"
    )
    found = flat({"main.tex": body + r"{kept for a while}{kept for longer}\fi\fi kept\end{document}"})
    assert re.findall("gone|kept", found.text) == ["kept"] * 3
    assert "is unknown; both branches are read" in found.warnings[0]


def test_a_file_that_the_paper_writes_itself_is_read() -> None:
    text = (
        "\\begin{filecontents*}{part.tex}\nwritten\n\\end{filecontents*}\\begin{document}\\input{part}\\end{document}"
    )
    assert flat({"main.tex": text}).text.partition("document}")[2].split()[0] == "written"


def test_what_slides_leave_to_other_modes_is_not_read() -> None:
    text = r"\documentclass{beamer}\begin{document}\mode<article>{gone}\mode<presentation>{kept}\end{document}"
    assert re.findall("kept|gone", flat({"main.tex": text}).text) == ["kept"]
