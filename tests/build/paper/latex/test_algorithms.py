from pathlib import Path

from tests.build.paper.latex.test_document import paper


def test_code_in_an_algorithm_keeps_its_lines(tmp_path: Path) -> None:
    (found,) = paper(
        tmp_path,
        "\\begin{algorithm}\\caption{Algorithm 1: Egg turning}\\label{alg:e}\n"
        "\\begin{minted}[linenos,\n%  mathescape,\n  label={[a]}]{python}\n"
        "for x in eggs:\n    turn(x)  # gently\n\\end{minted}\n\\end{algorithm}",
    ).algorithms
    assert (found.title, found.label) == ("Egg turning", "alg:e")
    assert found.body == "for x in eggs:\n    turn(x)  # gently"


def test_a_float_of_code_outside_of_algorithms_is_none(tmp_path: Path) -> None:
    body = "\\begin{figure}\\begin{verbatim}\nz = 3\n\\end{verbatim}\\caption{Example code of hatching}\\end{figure}"
    assert paper(tmp_path, body).algorithms == ()


def test_an_ordinary_table_is_none(tmp_path: Path) -> None:
    body = "\\begin{table}\\begin{tabular}{l}\\textbf{Eggs} \\\\ 3 \\end{tabular}\\caption{The algorithm}\\end{table}"
    assert paper(tmp_path, body).algorithms == ()


def test_settings_of_algorithm2e_are_no_steps(tmp_path: Path) -> None:
    body = "\\begin{algorithm}\\caption{A}\\SetKwFor{For}{for}{\\string:}{}\\SetAlgoLined\nturn\\;\n\\end{algorithm}"
    assert paper(tmp_path, body).algorithms[0].body == "turn"
