import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import PEER
from xkg.commands.graph.contents import import_graphs
from xkg.commands.graph.open import open_store
from xkg.config import Settings
from xkg.model import Evidence, Level, PaperBundle

RAN = Evidence(level=Level.EXECUTED, runner="bwrap", exit_code=0, checked_at="2026-01-01T00:00:00+00:00")


def executed(bundle: PaperBundle) -> PaperBundle:
    code = [node.model_copy(update={"level": RAN.level, "evidence": (RAN,)}) for node in bundle.code]
    return bundle.model_copy(update={"code": tuple(code)})


def test_the_same_files_again_publish_nothing_and_keep_what_was_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Path(shutil.copytree(PEER, tmp_path / "files"))
    chosen = Settings(kg=tmp_path / "kg")
    papers = import_graphs(chosen, files).papers
    monkeypatch.setattr("xkg.sandbox.evidence.static_checks.stamp", lambda: "2031-01-01T00:00:00+00:00")
    assert import_graphs(chosen, files).generation == 1
    with open_store(chosen) as store:
        assert store.revise(papers, executed) == 2
        proven = {bundle.paper.id: bundle for bundle in store.bundles()}  # type: ignore[attr-defined]
    assert import_graphs(chosen, files).generation == 2
    (changed,) = files.glob("running_medians.json")
    paper = json.loads(changed.read_bytes())
    paper["techniques"][0]["description"] += " Twice."
    changed.write_text(json.dumps(paper))
    assert import_graphs(chosen, files).generation == 3
    with open_store(chosen) as store:
        after = {bundle.paper.id: bundle for bundle in store.bundles()}  # type: ignore[attr-defined]
    assert [bundle.code for bundle in after.values()] == [bundle.code for bundle in proven.values()]
    assert len([paper for paper in papers if after[paper] != proven[paper]]) == 1
    assert {node.level for bundle in after.values() for node in bundle.code} == {Level.EXECUTED}
