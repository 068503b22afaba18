from pathlib import Path

import pytest

from tests.attestations.conftest import LAB, evidence
from tests.store.graphs import FakeHashEmbedder, a_paper
from tests.store.neo4j.loading import Graph
from xkg.attestations.bundles import received
from xkg.attestations.envelope import attest
from xkg.errors import UnknownIdError
from xkg.model import Paper, PaperBundle, Technique
from xkg.store.local.store import EmbeddedStore
from xkg.store.neo4j.snapshot import RemoteSnapshot

FIRST, SECOND = "arxiv:2101.00001", "arxiv:2101.00002"


def snapshot(graph: Graph) -> RemoteSnapshot:
    return RemoteSnapshot(graph.connection, 1, graph.read)


def hostile() -> PaperBundle:
    """A paper whose texts no engine can hold, with a hidden technique."""
    paper = "title:half-a-\ud800-pair\0"
    return PaperBundle(
        paper=Paper(id=paper, title="Half \ud800 a pair", origin="import"),
        techniques=(
            Technique(id=f"{paper}#a\ud800", name="Über-Norm \ud800", aliases=("x" * 20_000, "--", "Ｆｕｌｌ width")),
            Technique(id=f"{paper}#b", name="Out of sight", hidden="no code"),
        ),
    )


def attested() -> PaperBundle:
    """A paper of somebody else whose code LAB attests."""
    sent = a_paper(3)
    code = [each.model_copy(update={"evidence": (evidence(),)}) for each in sent.code]
    claimed = received(sent.model_copy(update={"code": tuple(code)}), [attest(c, evidence(), (), LAB) for c in code])
    assert all(each.attestations for each in claimed.code)
    return claimed


def test_both_stores_answer_alike(graph: Graph, tmp_path: Path) -> None:
    papers = [a_paper(1), a_paper(2), hostile(), attested()]
    store = EmbeddedStore(tmp_path, FakeHashEmbedder)
    store.publish(papers)
    graph.put(*papers)
    remote = snapshot(graph)
    with store.snapshot() as embedded:
        assert [p.id for p in remote.papers()] == [p.id for p in embedded.papers()]
        assert len(remote.papers()) == 4
        assert remote.papers()[0] == embedded.papers()[0]
        assert remote.paper_lines()[0] == embedded.paper_lines()[0]
        counted = [
            [(x.id, x.techniques, x.levels, x.attested) for x in each.paper_lines()] for each in (remote, embedded)
        ]
        assert counted[0] == counted[1]
        wanted = [technique.id for bundle in papers for technique in bundle.techniques]
        assert remote.facts(wanted) == embedded.facts(wanted)
        for bundle in papers:
            assert remote.bundle(bundle.paper.id) == bundle
            remote.require_paper(bundle.paper.id)
            for technique in bundle.techniques:
                if technique.hidden is None:
                    assert remote.technique(technique.id) == embedded.technique(technique.id)
            for code in bundle.code:
                assert remote.code(code.id) == embedded.code(code.id)
        for name in ("layernorm", "LAYER-norm", "ln", "warm up", "WARMUP", "uber norm", "über-norm", "x" * 20_000,
                     "full  width", "", "--", "nobody", "Out of sight", "\ud800", "\0"):  # fmt: skip
            assert list(remote.named(name)) == list(embedded.named(name)), name
        for ask in ("technique", "code", "bundle", "require_paper"):
            for wanted in ("", "nothing", f"{FIRST}#metod", f"{FIRST}#method/layer-norm@000000000000",
                           f"{hostile().paper.id}#absent", "arxiv:2101.0001", "x#layernorm", "\ud800"):  # fmt: skip
                with pytest.raises(UnknownIdError) as ours:
                    getattr(remote, ask)(wanted)
                with pytest.raises(UnknownIdError) as theirs:
                    getattr(embedded, ask)(wanted)
                assert str(ours.value) == str(theirs.value)


def test_an_answer_sees_one_state(graph: Graph) -> None:
    graph.put(a_paper(1))
    remote = snapshot(graph)
    before = remote.technique(f"{FIRST}#method")
    papers = list(remote.papers())
    assert remote.named("Warm-up") == (f"{FIRST}#method/warm-up",)
    graph.put(a_paper(1, note="changed"))
    graph.put(a_paper(2))
    assert remote.technique(f"{FIRST}#method") == before
    assert list(remote.papers()) == papers
    assert remote.named("Warm-up") == (f"{FIRST}#method/warm-up",)
    assert snapshot(graph).technique(f"{FIRST}#method") != before


def test_what_vanished_is_left_out(graph: Graph) -> None:
    graph.put(a_paper(1), a_paper(2))
    remote = snapshot(graph)
    found = remote.named("layer norm") or remote.named("LayerNorm")
    assert len(found) == 2
    graph.remove(FIRST)
    assert [view.technique.id for view in remote.techniques([*found, "x#y"])] == [f"{SECOND}#method/layer-norm"]
    with pytest.raises(UnknownIdError):
        snapshot(graph).require_paper(FIRST)
    assert [p.id for p in snapshot(graph).papers()] == [SECOND]


def test_papers_of_one_answer_are_read_at_once_and_once(graph: Graph) -> None:
    graph.put(*(a_paper(number) for number in range(1, 4)))
    remote = snapshot(graph)
    ids = [t for n in range(1, 4) for t in (f"arxiv:2101.0000{n}#method", f"arxiv:2101.0000{n}#method/warm-up")]
    assert [view.technique.id for view in remote.techniques(ids)] == ids
    remote.bundle(SECOND)
    remote.techniques(ids[:2])
    assert graph.reads == [[FIRST, SECOND, "arxiv:2101.00003"]]
