from pathlib import Path

import pytest

from xkg.build.paper.read import parse_paper
from xkg.build.sources.paper_source import PaperFile

TEX = r"\documentclass{article}\title{Rings}%s\begin{document}\maketitle\section{Method} We sort. \end{document}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.tex", TEX % r"\author{The ring papers}", True),
        ("a.tex", TEX % r"\author{Ada Lind}", False),
        ("a.tex", TEX % r"\author{Anonymous Author(s)}", False),
        ("a.md", "# Rings\n\nInstitute of Rings\n\n## Method\n\nWe sort.\n", True),
        ("a.md", "# Rings\n\n## Method\n\nWe sort.\n", False),
    ],
)
def test_authors_that_are_stated_and_not_recognised_are_told(tmp_path: Path, name: str, text: str, said: bool) -> None:
    path = tmp_path / name
    path.write_text(text)
    warnings = PaperFile(path=path).described(parse_paper(path)).warnings
    assert any("authors were not recognised" in line for line in warnings) == said
