from pathlib import Path

import pytest

from xkg.build.paper.read import parse_paper
from xkg.build.techniques.language import is_english

FRONT = (
    r"\documentclass{article}\begin{document}\begin{abstract}We propose a sampler with a gate.\end{abstract}\section{A}"
)


@pytest.mark.parametrize(
    ("body", "english"),
    [
        ("We sort the particles by weight and merge those that are near to one another, which keeps the mean of them "
         "for the next step of the filter.", True),
        ("Resampling.", True),
        (r"Samples move. Their queries compete. Each sample is a query. $$\ell_g = \log p(x \mid q), \quad \ell_h = "
         r"\log q(x \mid p), \quad \ell_k = \log r(x)$$ Queries swap after ten epochs.", True),
        ("Das Wellengatter ist ein Modul, das jeden Wert skaliert. Die Ankererneuerung ersetzt alte Anker durch neue, "
         "und zwar nach jedem zehnten Schritt des Verfahrens.", False),
        ("リップルゲートとは、スコアを変換するモジュールである。", False),
    ],
)  # fmt: skip
def test_the_language_of_a_paper(tmp_path: Path, body: str, english: bool) -> None:
    paper = tmp_path / "main.tex"
    paper.write_text(FRONT + body + r"\end{document}", "utf-8")
    assert is_english(parse_paper(paper)) is english


def test_the_language_of_a_paper_without_headings(tmp_path: Path) -> None:
    body = "ტალღური შერჩევა ირჩევს მაგალითებს დანაკარგის რხევის მიხედვით."
    paper = tmp_path / "main.tex"
    paper.write_text(r"\documentclass{article}\begin{document}" + body + r"\end{document}", "utf-8")
    assert not is_english(parse_paper(paper))
