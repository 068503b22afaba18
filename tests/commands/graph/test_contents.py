import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import PEER
from xkg.commands.graph.contents import import_graphs, show
from xkg.commands.graph.open import open_service, open_store
from xkg.config import Settings
from xkg.model import Evidence, Level, Paper, PaperBundle, Technique

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


def test_show_takes_a_name_for_the_paper_of_this_id_first(tmp_path: Path) -> None:
    chosen = Settings(kg=tmp_path / "kg")
    technique = Technique(id="title:other#len", name="LEN")
    with open_store(chosen) as store:
        store.publish([PaperBundle(paper=Paper(id="title:len", title="LEN", origin="build"))])
        store.publish(
            [PaperBundle(paper=Paper(id="title:other", title="Other", origin="build"), techniques=(technique,))]
        )
    with open_service(chosen) as service:
        assert show(service, "LEN").id == "title:len"  # type: ignore[union-attr]
        assert show(service, "title:other#len").id == technique.id  # type: ignore[union-attr]
