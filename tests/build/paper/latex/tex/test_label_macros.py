from hypothesis import given
from hypothesis import strategies as st

from xkg.build.paper.document import SourceSpan
from xkg.build.paper.latex.tex.label_macros import with_plain_labels

DEFINED = r"\newcommand{\eqlabel}[1]{\label{eq:#1}}" + "\n"


def test_a_macro_that_only_sets_a_label_is_that_label() -> None:
    text = DEFINED + "\\begin{equation}\\eqlabel{a}\nx\n\\end{equation}\nSee \\eqlabels and \\eqlabel {b}."
    plain, _ = with_plain_labels(text, ())
    assert plain.endswith("\\begin{equation}\\label{eq:a}\nx\n\\end{equation}\nSee \\eqlabels and \\label{eq:b}.")


def test_other_macros_stay() -> None:
    text = r"\newcommand{\note}[1]{\textbf{#1}} \note{x} \newcommand{\two}[2]{\label{#1}} \two{a}{b}"
    assert with_plain_labels(text, ()) == (text, ())


@given(st.lists(st.sampled_from(["\\eqlabel{a}", "t\n", " \\eqlabel{long:n}", "\n\n", "x"]), min_size=1, max_size=12))
def test_every_offset_still_leads_to_its_line(pieces: list[str]) -> None:
    files = {"m.tex": DEFINED, "n.tex": "".join(pieces)}
    text = "".join(files.values())
    spans = (
        SourceSpan(start=0, end=len(DEFINED), path="m.tex", line=1),
        SourceSpan(start=len(DEFINED), end=len(text), path="n.tex", line=1),
    )
    plain, moved = with_plain_labels(text, spans)
    assert "\\eqlabel{a}" not in plain
    before = -1
    for span in moved:
        assert before <= span.start < span.end
        before = span.end
        for n, line in enumerate(plain[span.start : span.end].split("\n")):
            assert line in files[span.path].split("\n")[span.line - 1 + n]
    assert "x" not in pieces or any("x" in plain[s.start : s.end] for s in moved)
