"""Writes LaTeX papers from a body and a title, and extracts their techniques."""

from pathlib import Path

from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import Extraction, extract
from xkg.model import Technique

_INTRODUCTION = (
    "\\section{Introduction}\nLong words came before \\cite{a}. In this paper we propose Tern Sampling (TS), a sampler "
    "that forgets slowly. TS needs one pass.\n\n"
)
_END = "\n\n\\section{Experiments}\nWe compare TS with baselines on datasets.\n\n\\section{Conclusion}\nTS is fast.\n"


def extracted(folder: Path, text: str) -> Extraction:
    path = folder / "paper.tex"
    path.write_text(text, encoding="utf-8")
    return extract(parse_paper(path), "title:tern")


def techniques(folder: Path, method: str, after: str = "") -> dict[str, Technique]:
    """The visible techniques of a paper on Tern Sampling whose method is `method`, keyed by `heading`."""
    text = (
        "\\documentclass{article}\n\\title{Tern Sampling for Slow Forgetting}\n\\begin{document}\n\\maketitle\n"
        f"{_INTRODUCTION}\\section{{Method}}\n{method}{_END}{after}\\end{{document}}\n"
    )
    return {heading(t): t for t in extracted(folder, text).techniques if t.hidden is None}


def heading(technique: Technique) -> str:
    """Returns the name of a technique in a paper on TS. Removes "TS" if the name was completed from a heading."""
    name = technique.name.casefold()
    return next(
        (a for a in technique.aliases if name in (f"ts {a.casefold()}", f"{a.casefold()} in ts")), technique.name
    )
