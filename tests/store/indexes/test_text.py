import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.graphs import open_store
from xkg.model import Code, Paper, PaperBundle, Technique
from xkg.store.local.store import EmbeddedStore

NAMES = {
    "norm": Technique(id="title:p#norm", name="LayerNorm", definition="Scales the activations of one example."),
    "loss": Technique(id="title:p#loss", name="Loss", definition="The contrastive_loss of fine-tuned representations."),
    "reset": Technique(
        id="title:p#reset", name="Stochastic restore", definition="A random share of weights is restored."
    ),
    "cafe": Technique(id="title:p#cafe", name="Café sampling", aliases=("Kaffeehaus",)),
    "code": Technique(id="title:p#code", name="Helper"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    store = open_store(tmp_path_factory.mktemp("text"))
    code = Code(
        id="title:p#code@1",
        technique="title:p#code",
        implementation="class Gadget:\n    async def spin_wheel(self): ...\n",
        documentation="Computes getHTTPCode",
    )
    paper = Paper(id="title:p", title="Winter gardens", origin="build")
    store.publish([PaperBundle(paper=paper, techniques=tuple(NAMES.values()), code=(code,))])
    return store


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("layer norm", "norm"),
        ("layernorm", "norm"),
        ("LAYER_NORM", "norm"),
        ("finetuning", "loss"),
        ("restoring weights at random", "reset"),
        ("cafe", "cafe"),
        ("kaffeehaus", "cafe"),
        ("http code", "code"),
        ("gadget", "code"),
    ],
)
def test_identifiers_and_english_meet(store: EmbeddedStore, query: str, best: str) -> None:
    with store.snapshot() as snapshot:
        assert snapshot.find_text(query, 3)[0].id == NAMES[best].id


def test_what_a_technique_has_of_a_query_is_weighed_by_rarity(store: EmbeddedStore) -> None:
    ids = [t.id for t in NAMES.values()]
    with store.snapshot() as snapshot:
        found, all_words = snapshot.matched("contrastive loss of the nonesuch", [*ids, "title:p#missing"])
        assert set(found) == set(ids)
        assert found["title:p#norm"] == 0
        assert 0 < found["title:p#loss"] < all_words, "nobody has nonesuch"
        assert snapshot.matched("contrastive loss", ids)[0]["title:p#loss"] == pytest.approx(
            snapshot.matched("contrastive loss", ids)[1]
        )
        assert snapshot.matched("the of", ids) == (dict.fromkeys(ids, 0.0), 0.0)
        assert snapshot.matched("loss", [])[0] == {}


@given(st.text(st.characters(codec=None)))
def test_no_query_is_an_error(store: EmbeddedStore, query: str) -> None:
    with store.snapshot() as snapshot:
        scores = [h.score for h in snapshot.find_text(query, 10)]
        assert scores == sorted(scores, reverse=True)


def test_a_large_index_weighs_words_as_a_small_one(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [t.id for t in NAMES.values()]
    queries = ("contrastive loss of the nonesuch", "layer normalisation", "loss", "winter garden of random weights")
    queries += (" ".join(f"loss{number}" for number in range(200)),)
    with store.snapshot() as snapshot:
        small = [snapshot.matched(query, ids) for query in queries]
        monkeypatch.setattr("xkg.store.indexes.text._UNION", 0)
        assert [snapshot.matched(query, ids) for query in queries] == small
