from pathlib import Path

from xkg.build.paper.read import parse_paper


def numbers(folder: Path, body: str, preamble: str = "") -> list[tuple[str, ...]]:
    path = folder / "paper.tex"
    path.write_text(f"\\documentclass{{article}}{preamble}\\begin{{document}}\n{body}\n\\end{{document}}\n")
    return [equation.numbers for equation in parse_paper(path).equations]


def test_rows_tags_and_what_has_no_number(tmp_path: Path) -> None:
    body = (
        "\\begin{equation}a\\end{equation}\n\\[b\\]\n\\begin{equation*}c\\end{equation*}\n"
        "\\begin{align}d&=\\begin{cases}1\\\\2\\end{cases}\\\\e&=f\\nonumber\\\\g&=h\\end{align}\n"
        "\\begin{equation}i\\tag{$*$}\\end{equation}\n\\begin{equation}j\\end{equation}\n"
    )
    assert numbers(tmp_path, body) == [("1",), (), (), ("2", "3"), ("$*$",), ("4",)]


def test_subequations_have_letters(tmp_path: Path) -> None:
    body = (
        "\\begin{equation}a\\end{equation}\\begin{subequations}\\begin{align}b\\\\c\\end{align}\\end{subequations}"
        "\\begin{equation}d\\end{equation}"
    )
    assert numbers(tmp_path, body) == [("1",), ("2a", "2b"), ("3",)]


def test_numbers_within_sections_and_an_appendix(tmp_path: Path) -> None:
    one = "\\begin{equation}a\\end{equation}"
    body = f"\\section{{A}}{one}{one}\\section*{{B}}{one}\\section{{C}}{one}\\appendix\\section{{D}}{one}"
    preamble = "\\numberwithin{equation}{section}"
    assert numbers(tmp_path, body, preamble) == [("1.1",), ("1.2",), ("1.3",), ("2.1",), ("A.1",)]
    assert numbers(tmp_path, body) == [("1",), ("2",), ("3",), ("4",), ("5",)]
