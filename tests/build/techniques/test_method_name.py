"""The paper's own method among the others that it names."""

from pathlib import Path

from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import extract


def test_the_proposed_one_is_the_root_and_not_the_most_common_one(tmp_path: Path) -> None:
    proposal = "We propose an efficient alternative -- Lazy Egg Turning (LET) -- that turns less."
    path = tmp_path / "paper.tex"
    path.write_text(
        "\\documentclass{article}\\title{Turning fewer eggs}\\begin{document}\n\\begin{abstract}"
        + proposal
        + "\\end{abstract}\n"
        "\\section{Introduction}\nThe most common turner is the \\emph{Greedy Turner} (GT). GT turns all. "
        + proposal
        + " LET is fast. LET is small.\n\\section{Method}\nLET turns an egg when it is warm.\n\\end{document}"
    )
    assert extract(parse_paper(path), "title:x").techniques[0].name == "LET"
