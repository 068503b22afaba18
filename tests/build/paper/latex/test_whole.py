"""Checks that a paper's passages contain every word once, in order, without layout."""

import re
import tempfile
from pathlib import Path

from hypothesis import given

from tests.build.paper.latex.whole import PRINTED, papers
from xkg.build.guided.reading.paper_text import rendered
from xkg.build.guided.reading.passages import read_passages
from xkg.build.paper.read import parse_paper


def passages_of(source: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.tex"
        path.write_text(source, encoding="utf-8")
        passages = read_passages(parse_paper(path))
    return rendered(passages, {p.number for p in passages.listed})


@given(papers())
def test_every_word_is_read_once_in_order(paper: tuple[str, list[str]]) -> None:
    source, words = paper
    text = passages_of(source)
    found = re.findall(r"[qQ][a-z]{5}z", text)
    assert found == words
    bare = re.sub(r"\$[^$]*\$", " ", text)
    assert not re.search(r"[\\{}]", bare), bare
    assert not re.search(r"\d\s?(?:pt|em|ex|mm|cm|in)\b|width|\[[a-z!]+\]", bare), bare
    assert set(re.findall(r"[A-Za-z]{2,}", bare)) <= PRINTED | set(words) | {"Part"}
    for formula in re.findall(r"\$([^$]*)\$", text):
        assert formula.count("{") == formula.count("}")
        assert not re.search(r"space|skip|small|footnotesize|nonumber|label|nothing", formula)
