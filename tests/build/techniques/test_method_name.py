from pathlib import Path

from tests.build.techniques.papers import extracted


def test_the_proposed_one_is_the_root_and_not_the_most_common_one(tmp_path: Path) -> None:
    proposal = "We propose an efficient alternative -- Lazy Egg Turning (LET) -- that turns less."
    text = (
        "\\documentclass{article}\\title{Turning fewer eggs}\\begin{document}\n\\begin{abstract}"
        + proposal
        + "\\end{abstract}\n"
        "\\section{Introduction}\nThe most common turner is the \\emph{Greedy Turner} (GT). GT turns all. "
        + proposal
        + " LET is fast. LET is small.\n\\section{Method}\nLET turns an egg when it is warm.\n\\end{document}"
    )
    assert extracted(tmp_path, text).techniques[0].name == "LET"


def test_an_abbreviation_shows_how_far_the_name_goes(tmp_path: Path) -> None:
    text = (
        "\\documentclass{article}\\title{Nest as Code: Memory for Terns}\\begin{document}\n"
        "\\begin{abstract}We propose \\textbf{Nest as Code} (NaC), a memory. NaC is small.\\end{abstract}\n"
        "\\section{Method}\nNaC keeps eggs as code. NaC is fast.\n\\end{document}"
    )
    root = extracted(tmp_path, text).techniques[0]
    assert (root.name, root.aliases) == ("NaC", ("Nest as Code",))
