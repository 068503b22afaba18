"""Pseudocode that is typeset as code or as a table."""

from pathlib import Path

from xkg.build.paper.document import Algorithm
from xkg.build.paper.read import parse_paper


def algorithms(folder: Path, body: str) -> tuple[Algorithm, ...]:
    path = folder / "paper.tex"
    path.write_text(f"\\documentclass{{article}}\\begin{{document}}\n{body}\n\\end{{document}}\n")
    return parse_paper(path).algorithms


def test_code_in_an_algorithm_keeps_its_lines(tmp_path: Path) -> None:
    (found,) = algorithms(
        tmp_path,
        "\\begin{algorithm}\\caption{Algorithm 1: Egg turning}\\label{alg:e}\n\\begin{lstlisting}[language=python]\n"
        "for x in eggs:\n    turn(x)  # gently\n\\end{lstlisting}\n\\end{algorithm}",
    )
    assert (found.title, found.label) == ("Egg turning", "alg:e")
    assert found.body == "for x in eggs:\n    turn(x)  # gently"


def test_listings_have_captions_in_their_options_or_in_their_float(tmp_path: Path) -> None:
    found = algorithms(
        tmp_path,
        "\\begin{lstlisting}[language=Python, caption={Egg, turned}, label=lst:a]\nx = 1\n\\end{lstlisting}\n"
        "\\begin{listing}\\begin{minted}{python}\ny = 2\n\\end{minted}\\caption{Shell check}\\end{listing}\n"
        "\\begin{figure}\\begin{verbatim}\nz = 3\n\\end{verbatim}\\caption{Pseudocode of hatching}\\end{figure}\n"
        "\\begin{figure}\\begin{verbatim}\nHello\n\\end{verbatim}\\caption{A dialogue}\\end{figure}",
    )
    assert [(a.title, a.label, a.body) for a in found] == [
        ("Egg, turned", "lst:a", "x = 1"),
        ("Shell check", None, "y = 2"),
        ("Pseudocode of hatching", None, "z = 3"),
    ]


def test_a_table_of_steps_is_an_algorithm(tmp_path: Path) -> None:
    (found,) = algorithms(
        tmp_path,
        "\\begin{table}\\begin{tabular}{l}\\hline\n\\textbf{Algorithm 2}: Egg turning by hand\n\\\\ \\hline\n"
        "\\textbf{Input:} eggs \\\\\n1. Turn \\\\\n2. Wait\n\\end{tabular}\\end{table}",
    )
    assert found.title == "Egg turning by hand"
    assert found.body.split("\n") == ["Input: eggs", "1. Turn", "2. Wait"]


def test_an_ordinary_table_is_none(tmp_path: Path) -> None:
    body = "\\begin{table}\\begin{tabular}{l}\\textbf{Eggs} \\\\ 3 \\end{tabular}\\caption{The algorithm}\\end{table}"
    assert algorithms(tmp_path, body) == ()


def test_settings_of_algorithm2e_are_no_steps(tmp_path: Path) -> None:
    body = "\\begin{algorithm}\\caption{A}\\SetKwFor{For}{for}{\\string:}{}\\SetAlgoLined\nturn\\;\n\\end{algorithm}"
    assert algorithms(tmp_path, body)[0].body == "turn"
