import tempfile
from pathlib import Path

import pytest

from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.paper.document import Document
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper

DATA = Path(__file__).parents[3] / "data" / "extract"
PAPERS = ("systems.tex", "theory.tex", "unnamed.md", "note.md")


def read(name: str) -> Passages:
    return read_passages(parse_paper(DATA / name))


def markdown(text: str) -> Document:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paper.md"
        path.write_text(text, encoding="utf-8")
        return parse_paper(path)


@pytest.mark.parametrize("name", PAPERS)
def test_excerpts_of_a_passage_are_its_text(name: str) -> None:
    passages = read(name)
    document = passages.document
    assert [p.number for p in passages.listed] == list(range(1, len(passages.listed) + 1))
    assert [p.start for p in passages.listed] == sorted(p.start for p in passages.listed)
    for passage in passages.listed:
        excerpts = passages.excerpts([passage.number])
        assert passage.number in passages.at(excerpts)
        assert all(document.place(e.start) == (e.path, e.line) for e in excerpts)
        if passage.kind == "text":
            assert " ".join(plain(document, e.start, e.end) for e in excerpts).split() == passage.text.split()


def test_algorithms_statements_and_tables_of_settings_are_passages_of_their_own() -> None:
    text = "\n\n".join(
        [
            "# Quiet Descent",
            "## Method",
            "Quiet descent skips a step when its norm is below a threshold.",
            "**Theorem 1.** Quiet descent converges on every convex function that is smooth and bounded from below.",
            "The threshold shrinks with the number of skipped steps.",
            "```\nif norm < threshold: skip()\n```",
            "## Hyperparameters",
            "| learning rate | 0.1 |\n|---|---|\n| threshold | 0.003 |",
            "## Results",
            "| model | accuracy |\n|---|---|\n| ours | 91.2 |",
            "## References",
            "[1] Somebody. Something. 2020.",
        ]
    )
    passages = read_passages(markdown(text))
    kinds = {p.kind: p.text for p in passages.listed}
    settings, results = (p for p in passages.listed if p.kind == "table")
    assert settings.settings
    assert "0.003" in settings.text
    assert not results.settings
    assert "91.2" in results.text
    assert "converges on every convex function" in kinds["statement"]
    assert kinds["listing"] == "if norm < threshold: skip()"
    assert not any("Somebody" in p.text for p in passages.listed)
