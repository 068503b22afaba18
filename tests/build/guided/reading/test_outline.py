"""What the method of a paper refers to is read with it, wherever it stands."""

from pathlib import Path

from xkg.build.guided.reading.cross_references import referenced
from xkg.build.guided.reading.outline import condensed
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.section_roles import Role

FILLER = "The tide rises in many harbours, as has been observed for a long time by sailors.\n\n"
PAPER = (
    r"""\documentclass{article}\usepackage{algorithm,algorithmic}
\newcommand{\eqlabel}[1]{\label{eq:#1}}
\title{Tidal Descent}\begin{document}\maketitle
\begin{abstract}We propose tidal descent.\end{abstract}
\section{Introduction}
"""
    + FILLER * 3
    + r"""\section{Setup}
"""
    + FILLER * 6
    + r"""We minimise
\begin{equation}\eqlabel{moon}
M(x) = \sum_i \cos(x_i)^2
\end{equation}
\begin{algorithm}\caption{Tidal descent}\label{alg:tide}
\begin{algorithmic}
\STATE draw the moon
\STATE pull the water
\end{algorithmic}\end{algorithm}
\section{Our Method}
We introduce tidal descent, which is given in Algorithm~\ref{alg:tide}, for the objective of Equation~(\ref{eq:moon}).
"""
    + "We pull the water further in each step, and we let it fall again when the moon has set.\n\n" * 30
    + r"""\section{Experiments}
"""
    + FILLER * 20
    + r"\end{document}"
)


def passages(folder: Path) -> Passages:
    path = folder / "p.tex"
    path.write_text(PAPER)
    return read_passages(parse_paper(path))


def test_the_objective_and_the_algorithm_that_the_method_refers_to_are_in_a_short_prompt(tmp_path: Path) -> None:
    text = condensed(passages(tmp_path), 2_500)
    assert r"\cos(x_i)^2" in text
    assert "pull the water\n" in text
    assert "# Experiments" not in text


def test_a_misspelt_acknowledgement_is_no_method(tmp_path: Path) -> None:
    path = tmp_path / "p.tex"
    path.write_text(PAPER.replace(r"\section{Our Method}", r"\section{Acknowldgements}"))
    parts = read_passages(parse_paper(path)).parts
    assert not [part for part in parts if part.title == "Acknowldgements" and part.role is not Role.BACK]


def test_a_setup_before_the_method_is_background(tmp_path: Path) -> None:
    roles = {part.title: part.role for part in passages(tmp_path).parts}
    assert roles["Setup"] is Role.BACKGROUND
    assert roles["Experiments"] is Role.EXPERIMENTS


def test_an_equation_is_found_by_its_number_whatever_macro_sets_its_label(tmp_path: Path) -> None:
    found = passages(tmp_path)
    method = next(p.number for p in found.listed if "Equation (1)" in p.text)
    targets = [found[n].text for place in referenced([method], found) for n in place]
    assert any("pull the water" in text for text in targets)
    assert any(r"\cos(x_i)^2" in text for text in targets)


def test_conditions_late_in_a_part_of_results_are_read_where_there_is_room_and_proofs_are_not(tmp_path: Path) -> None:
    stated = (
        "\\section{Assumptions and Results}\n"
        + FILLER * 12
        + "\\begin{condition}[Set complexity]There is a constant $\\kappa$ that bounds the tide of every harbour."
        + "\\end{condition}\n\n"
        + "\\begin{proof}The moon pulls every harbour alike, as sailors have known for a long time.\\end{proof}\n\n"
    )
    appendix = "\\appendix\\section{Lemmas}\n\\begin{lemma}The water falls again when the moon has set.\\end{lemma}\n"
    source = PAPER.replace(
        "\\usepackage{algorithm",
        "\\newtheorem{condition}{Condition}\\newtheorem{lemma}{Lemma}\\usepackage{amsthm,algorithm",
    )
    source = source.replace("\\section{Experiments}", f"{stated}\\section{{Experiments}}")
    path = tmp_path / "p.tex"
    path.write_text(source.replace("\\end{document}", f"{appendix}\\end{{document}}"))
    found = read_passages(parse_paper(path))
    text = condensed(found, 30_000)
    assert r"constant $\kappa$ that bounds" in text
    assert "The moon pulls every harbour" not in text
    assert "The water falls again" not in text
    assert r"\kappa" not in condensed(found, 3_000)
