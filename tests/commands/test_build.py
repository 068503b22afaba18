from pathlib import Path

import pytest

from tests.conftest import EXAMPLE, EXAMPLE_ID
from xkg.commands import build
from xkg.commands.graph import contents
from xkg.commands.graph.open import open_store
from xkg.config import EnvironmentSettings, LlmSettings, Settings
from xkg.errors import (
    CorruptStoreError,
    InputError,
    SandboxUnavailableError,
    UnknownIdError,
)
from xkg.model import PaperBundle


def settings(folder: Path) -> Settings:
    return Settings(kg=folder, llm=LlmSettings(model="none"), environment=EnvironmentSettings(max_mb=0))


def stored(folder: Path) -> dict[str, PaperBundle]:
    with open_store(settings(folder)) as store, store.snapshot() as snapshot:
        return {paper.id: snapshot.bundle(paper.id) for paper in snapshot.papers()}


LATEX = "\\documentclass{article}\\title{A Short Account of %s}\\begin{document}%s\\end{document}"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("unstructured.md", b"Words in a row."),
        ("cut.tar.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"x" * 99),
        ("cycle.tex", (LATEX % ("Cycles", "\\input{cycle}")).encode()),
    ],
)
def test_what_is_no_paper_replaces_none(graph: Path, tmp_path: Path, name: str, content: bytes) -> None:
    before = stored(graph)
    paper = tmp_path / name
    paper.write_bytes(content)
    with pytest.raises(InputError, match=name) as refused:
        build.build(settings(graph), paper, None, paper_id=EXAMPLE_ID)
    assert "\n" not in str(refused.value)
    assert stored(graph) == before


def test_a_build_without_a_repository_does_not_replace_one_with_it(graph: Path) -> None:
    before = stored(graph)
    assert before[EXAMPLE_ID].code
    result = build.build(settings(graph), EXAMPLE / "paper", None, paper_id=EXAMPLE_ID)
    assert (result.published, sum(result.levels.values())) == (False, len(before[EXAMPLE_ID].code))
    assert "was not changed" in result.notes[0]
    assert stored(graph) == before


def test_a_build_mends_its_own_damaged_bundle(graph: Path) -> None:
    bundle = next((graph / "bundles").glob("arxiv-*.json"))
    whole = bundle.read_bytes()
    bundle.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptStoreError, match=EXAMPLE_ID):
        stored(graph)
    built = build.build(settings(graph), EXAMPLE / "paper", str(EXAMPLE / "code"), paper_id=EXAMPLE_ID)
    assert built.published
    assert EXAMPLE_ID in stored(graph)
    assert contents.check_index(settings(graph)).problems == ()


def test_a_second_build_without_a_sandbox_shows_what_the_first_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise SandboxUnavailableError("none here")

    monkeypatch.setattr("xkg.sandbox.select.runner_for", refuse)
    first, second = (
        build.build(settings(tmp_path), EXAMPLE / "paper", str(EXAMPLE / "code"), paper_id=EXAMPLE_ID) for _ in range(2)
    )
    assert first.techniques > 0
    assert (second.techniques, second.hidden, second.levels) == (first.techniques, first.hidden, first.levels)
    assert not second.published


def test_an_export_is_all_or_a_named_paper(published: Path, tmp_path: Path) -> None:
    everything = contents.export_graphs(settings(published), (), tmp_path / "all", "peer")
    assert len(everything.files) == len(list((tmp_path / "all").iterdir())) == 5
    with pytest.raises(UnknownIdError, match="nobody"):
        contents.export_graphs(settings(published), (EXAMPLE_ID, "nobody"), tmp_path / "some", "peer")
    assert not (tmp_path / "some").exists()
