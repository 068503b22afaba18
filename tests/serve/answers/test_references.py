from collections.abc import Iterator

import pytest

from tests.serve.conftest import published, snapshot_of
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import UnknownIdError
from xkg.model import Code, Level, Paper, PaperBundle, Technique, code_id, slug
from xkg.serve.answers.lookup import code_answer
from xkg.serve.answers.references import paper_id, short_ids, short_paper, technique_id
from xkg.serve.search.search import search
from xkg.store.graph_store import Snapshot

HIVES = "title:calm-hives-smoke-and-sugar-water"
HONEY = "title:calm-hives-of-honey-without-smoke"


def bundle(paper: str, title: str, *paths: tuple[str, ...], code: tuple[str, ...] = ()) -> PaperBundle:
    techniques = [
        Technique(
            id=f"{paper}#{'/'.join(map(slug, path))}",
            name=path[-1],
            parent=f"{paper}#{'/'.join(map(slug, path[:-1]))}" if path[:-1] else None,
            definition=f"{path[-1]} keeps the bees of a hive calm.",
            depth=len(path) - 1,
        )
        for path in paths
    ]
    body = "def calm():\n    return 1\n"
    nodes = [
        Code(id=code_id(t.id, body, ""), technique=t.id, implementation=body, test="", level=Level.PARSED)
        for t in techniques
        if t.id.partition("#")[2] in code
    ]
    return PaperBundle(paper=Paper(id=paper, title=title, origin="import"), techniques=techniques, code=nodes)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory, embedder: OnnxEmbedder) -> Iterator[Snapshot]:
    smoking = ("Hive Smoking (HS)", "Cool Smoke")
    papers = (
        bundle(HIVES, "Calm Hives: Smoke and Sugar Water", smoking[:1], smoking, ("Cool Smoke",), ("Sugar Syrup",)),
        bundle(HONEY, "Calm Hives of Honey Without Smoke", ("Hive Singing",), ("Hive Singing", "Sugar Syrup")),
        bundle("arxiv:2001.00001", "Wax", ("Wax Moulding",), ("Wax Moulding", "Melt"), code=("wax-moulding/melt",)),
    )
    with snapshot_of(published(tmp_path_factory.mktemp("references"), embedder, *papers), embedder) as snapshot:
        yield snapshot


def everything(snapshot: Snapshot) -> list[str]:
    return [t.id for paper in snapshot.papers() for t in snapshot.bundle(paper.id).techniques]


def test_every_short_id_is_short_and_means_its_technique(snapshot: Snapshot) -> None:
    found = short_ids(snapshot, everything(snapshot))
    assert {technique: technique_id(snapshot, short) for technique, short in found.items()} == {t: t for t in found}
    assert len(set(found.values())) == len(found)
    assert found[f"{HIVES}#hive-smoking-hs"] == "hive-smoking-hs"
    assert found[f"{HIVES}#sugar-syrup"] == "calm-hives-smoke#sugar-syrup"
    assert found[f"{HIVES}#hive-smoking-hs/cool-smoke"] == "calm-hives-smoke#hive-smoking-hs/cool-smoke"
    assert found["arxiv:2001.00001#wax-moulding/melt"] == "melt"


@pytest.mark.parametrize("reference", ["hive smoking", "HS", "Hive Smoking (HS)", " hive-smoking-hs "])
def test_a_technique_is_meant_by_any_form_of_its_name(snapshot: Snapshot, reference: str) -> None:
    assert technique_id(snapshot, reference) == f"{HIVES}#hive-smoking-hs"


def test_of_two_of_one_name_in_a_paper_one_is_meant_and_of_two_papers_none(snapshot: Snapshot) -> None:
    assert technique_id(snapshot, "cool smoke") == f"{HIVES}#hive-smoking-hs/cool-smoke"
    with pytest.raises(UnknownIdError, match=r"2 papers have a technique 'sugar syrup'.*calm-hives-of#sugar-syrup"):
        technique_id(snapshot, "sugar syrup")
    with pytest.raises(UnknownIdError, match=r"no technique 'wax melting' in this graph; nearest: .*melt"):
        technique_id(snapshot, "wax melting")


@pytest.mark.parametrize(
    "reference",
    ["2001.00001", "https://arxiv.org/abs/2001.00001"],
)
def test_a_paper_of_arxiv_is_meant_by_number_and_address(snapshot: Snapshot, reference: str) -> None:
    assert paper_id(snapshot, reference) == "arxiv:2001.00001"
    with pytest.raises(UnknownIdError, match=r"no paper 'arxiv:2001\.99999'"):
        paper_id(snapshot, reference.replace("00001", "99999"))


def test_a_paper_is_meant_by_the_start_of_its_title_and_by_its_method(snapshot: Snapshot) -> None:
    assert paper_id(snapshot, "Calm Hives: Smoke") == HIVES
    assert paper_id(snapshot, "hive singing") == HONEY
    assert paper_id(snapshot, "HS") == HIVES
    assert [short_paper(snapshot, paper) for paper in (HIVES, HONEY)] == ["calm-hives-smoke", "calm-hives-of"]
    assert short_paper(snapshot, "arxiv:2001.00001") == "arxiv:2001.00001"
    with pytest.raises(UnknownIdError, match=r"2 papers have this title"):
        paper_id(snapshot, "calm hives")
    with pytest.raises(UnknownIdError, match="no paper 'Calm Hi'"):
        paper_id(snapshot, "Calm Hi")
    with pytest.raises(UnknownIdError) as unknown:
        paper_id(snapshot, "smoke hives")
    assert unknown.value.nearest[0] == HIVES


@pytest.mark.parametrize(
    ("reference", "near"),
    [
        ("hive smoking#cool smok", ["calm-hives-smoke#hive-smoking-hs/cool-smoke", "calm-hives-smoke#cool-smoke"]),
        (f"{HONEY}#", ["hive-singing", "calm-hives-of#sugar-syrup"]),
        ("qwertz", []),
    ],
)
def test_an_unknown_technique_names_techniques_and_no_paper(
    snapshot: Snapshot, reference: str, near: list[str]
) -> None:
    with pytest.raises(UnknownIdError) as unknown:
        technique_id(snapshot, reference)
    assert sorted(unknown.value.nearest) == sorted(near)
    with pytest.raises(UnknownIdError, match=r"'#cool-smoke' is only the end of an id; put the paper's id before it"):
        technique_id(snapshot, "#cool-smoke")


def test_code_is_meant_by_its_digest_behind_a_short_id(snapshot: Snapshot) -> None:
    whole = code_answer(snapshot, "melt").id
    assert code_answer(snapshot, f"melt@{whole.rpartition('@')[2]}").id == whole
    with pytest.raises(UnknownIdError, match=rf"its technique has melt@{whole[-12:]}$"):
        code_answer(snapshot, "melt@000000000000")


def test_a_title_is_the_name_of_what_its_paper_proposes(snapshot: Snapshot, embedder: OnnxEmbedder) -> None:
    rows = search(snapshot, embedder.encode, "calm hives of honey without smoke", 5).rows
    assert (rows[0].id, rows[0].score) == (f"{HONEY}#hive-singing", 1.0)
