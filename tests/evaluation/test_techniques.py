"""Tests the matching of extracted techniques with techniques that a human reader found."""

import json
from pathlib import Path

import pytest

from evaluation.techniques import Gold, likeness, main, match
from xkg.model import Excerpt, Technique

DATA = Path(__file__).parent.parent / "data" / "extract"


def gold(name: str, *aliases: str, kind: str = "main", lines: tuple[int, int] = (10, 20)) -> Gold:
    return Gold("p", "p.tex", kind, (name, *aliases), "p.tex", *lines)


def technique(name: str, line: int = 1, *aliases: str) -> Technique:
    excerpt = Excerpt(section="Method", start=0, end=1, path="p.tex", line=line)
    return Technique(id=f"title:p#{name}", name=name, aliases=aliases, excerpts=(excerpt,))


def test_likeness_is_of_words_and_not_of_their_order_or_number() -> None:
    assert likeness("Loss of ranking", "ranking losses") == 0.5  # only one word matches
    assert likeness("the mask generators", "Mask Generator") == 1
    assert likeness("S_C", "s_c") == 1
    assert likeness("", "$x$") == 0


def test_a_technique_found_twice_is_wrong_once_but_mentioned_ones_match_often() -> None:
    golds = [gold("nest search"), gold("Adam", "SGD", kind="mentioned")]
    outcome = match(
        [technique("nest search", 15), technique("Nest Search"), technique("Adam"), technique("SGD")], golds
    )
    assert [t.name for t in outcome.wrong] == ["Nest Search"]
    assert outcome.recall("main") == (1, 1)
    assert outcome.recall("main", "supporting", "mentioned") == (2, 2)


def test_the_most_alike_match_first() -> None:
    golds = [gold("event sequence encoder", lines=(1, 99)), gold("event encoder", lines=(1, 99))]
    outcome = match([technique("event encoder", 5), technique("sequence encoder", 5)], golds)
    assert [t.name for _, t in outcome.found if t] == ["sequence encoder", "event encoder"]


def test_a_table_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"paper": "tide", "main_file": "systems.tex", "file": "systems.tex", "aliases": [], "first": 1, "last": 99}
    rows = [{**row, "kind": "main", "name": "Page coalescing"}, {**row, "kind": "supporting", "name": "Tidal gauge"}]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    (tmp_path / "tide").mkdir()
    (tmp_path / "tide" / "systems.tex").write_bytes((DATA / "systems.tex").read_bytes())
    main([tmp_path / "gold.jsonl"], papers=tmp_path, details=True)
    printed = capsys.readouterr().out
    assert "missed (supporting): Tidal gauge" in printed
    assert "TideCache crash recovery" in printed
    assert printed.splitlines()[-1].split()[:5] == ["all", "1/1", "1.00", "1/2", "0.50"]
