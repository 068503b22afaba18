"""Techniques against a small hand-made repository, with the model that is used by default."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from xkg.build.code.codebase import Codebase, Module
from xkg.build.code.repository import parse_repository
from xkg.build.grounding.ground import Grounding, ground
from xkg.build.grounding.index.symbol_index import SymbolIndex, rendering
from xkg.build.grounding.query import technique_queries
from xkg.build.grounding.symbol_search import SymbolSearch
from xkg.build.paper.document import Document, Equation
from xkg.build.paper.read import parse_paper
from xkg.build.repositories.checkout import fetch_repository
from xkg.build.techniques.extract import extract
from xkg.embeddings.base import Embedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Excerpt, Repository, Technique

DATA = Path(__file__).parents[2] / "data" / "ground"
TERN = Technique(
    id="p#tern",
    name="Temporal Echo Retrieval Network (TERN)",
    kind="methodology",
    definition="Gates a spectrum, projects it and retrieves the nearest echo from a memory, trained by contrast.",
)


def technique(name: str, definition: str = "", parent: str | None = TERN.id) -> Technique:
    return Technique(id=f"{TERN.id}/{name}", name=name, parent=parent, definition=definition, depth=1)


MEMORY = technique("Echo memory", "Slots of past spectra, of which the oldest is overwritten.")
GATE = technique("Spectral gating", "Frequency bands below a learned noise floor are suppressed.")
CONTRAST = technique("Nearest Echo Contrast", "The echo is drawn to the anchor and others pushed away by a margin.")
INITIALIZATION = technique(
    "Orthogonal initialization", "Weights start as an orthogonal matrix, from a QR decomposition."
)
PRUNING = technique("Slot pruning", "Drop the slots that were not read for longest.")
COMPONENTS = [MEMORY, GATE, CONTRAST, INITIALIZATION, PRUNING]
FOREIGN = [
    technique("Proximal policy optimization", "A clipped surrogate objective for policy gradients in environments."),
    technique("Byte pair encoding", "Merge the most frequent pair of adjacent tokens into a subword vocabulary."),
    technique("Rotary position embedding", "Rotate queries and keys of attention heads by their token positions."),
    technique("Federated averaging", "Clients train on local data and a server averages their model parameters."),
    technique("Graph convolution", "Aggregate the features of neighbouring nodes with a normalised adjacency matrix."),
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return OnnxEmbedder()


@pytest.fixture(scope="module")
def codebase(tmp_path_factory: pytest.TempPathFactory) -> Codebase:
    return parse_repository(fetch_repository(str(DATA), tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def grounding(codebase: Codebase, embedder: Embedder) -> Grounding:
    return ground([TERN, *COMPONENTS], codebase, embedder)


def places(grounding: Grounding, technique: Technique) -> list[str]:
    return [location.symbol.partition(":tern/")[2] for location in grounding.of(technique.id)]


@pytest.mark.parametrize(
    ("wanted", "symbol"),
    [
        (MEMORY, "memory.py::EchoMemory"),
        (GATE, "memory.py::SpectralGate"),
        (CONTRAST, "losses.py::nec_loss"),
        (INITIALIZATION, "losses.py::orth_init"),
        (PRUNING, "losses.py::_prune_by_age"),
        (TERN, "training/network.py::TernNetwork"),
    ],
    ids=["named", "inflected", "initials", "shortened", "wrapped", "composed"],
)
def test_a_technique_is_located_where_the_code_does_it(grounding: Grounding, wanted: Technique, symbol: str) -> None:
    assert places(grounding, wanted)[:1] == [symbol]
    assert grounding.primaries[wanted.id].endswith(symbol)


def test_tests_plots_and_settings_come_after_the_class(grounding: Grounding) -> None:
    assert not any("check" in p or "plot" in p or "settings" in p or "__" in p for p in places(grounding, MEMORY)[:1])


def test_a_plot_is_found_for_a_technique_about_plotting(codebase: Codebase, embedder: Embedder) -> None:
    plotting = technique("Plotting the echo memory", "A figure shows the slots of past spectra, the oldest slot first.")
    assert places(ground([plotting], codebase, embedder), plotting)[0] == "plots.py::plot_echo_memory"


def test_a_script_without_definitions_is_located_as_a_file(codebase: Codebase, embedder: Embedder) -> None:
    sweep = technique("Sharpness sweep", "The accuracy of retrieval for each sharpness of reading.")
    found = ground([sweep], codebase, embedder)
    assert [found.of(sweep.id)[0].symbol, found.primaries[sweep.id]] == [
        f"{codebase.repository.id}:scripts/sharpness_sweep.py"
    ] * 2


def test_what_the_repository_does_not_hold_is_nowhere_without_doubt(codebase: Codebase, embedder: Embedder) -> None:
    found = ground(FOREIGN, codebase, embedder)
    assert all(location.doubtful for location in found.locations)
    assert not found.primaries
    assert sum(not found.of(t.id) for t in FOREIGN) >= 3


def test_among_its_own_techniques_a_foreign_one_is_still_not_located(codebase: Codebase, embedder: Embedder) -> None:
    found = ground([TERN, *COMPONENTS, *FOREIGN], codebase, embedder)
    assert [t.name for t in FOREIGN if t.id in found.primaries] == []
    assert all(location.doubtful for t in FOREIGN for location in found.of(t.id))
    assert all(found.of(t.id) for t in [TERN, *COMPONENTS])


RIVAL = """class EchoTrack:
    \"\"\"Slots of past echoes; the oldest slot goes.\"\"\"

    def push(self, echo):
        self.track.append(echo)
        return self.track.pop(0)
"""


@pytest.mark.parametrize("rival", ["none", "a copy", "other code"])
def test_little_support_is_enough_where_no_other_code_comes_near(
    rival: str, tmp_path: Path, embedder: Embedder
) -> None:
    shutil.copytree(DATA, tmp_path / "tern")
    if rival != "none":
        text = (DATA / "tern" / "losses.py").read_text() if rival == "a copy" else RIVAL
        (tmp_path / "tern" / "rival.py").write_text(text)
    margin = technique("Margin", "Others are pushed away.")
    found = ground([margin], parse_repository(fetch_repository(str(tmp_path / "tern"), tmp_path / "cache")), embedder)
    assert found.of(margin.id)[0].symbol.endswith("::nec_loss")
    assert bool(found.doubtful) == (rival == "other code")


def test_what_is_located_on_less_support_is_called_doubtful(codebase: Codebase, embedder: Embedder) -> None:
    techniques = [MEMORY, FOREIGN[3]]
    found = ground(techniques, codebase, embedder, least_support=0)
    assert found.of(FOREIGN[3].id)
    assert found.doubtful == {FOREIGN[3].id}
    assert not ground(techniques, codebase, embedder).doubtful


def test_siblings_take_different_places_where_both_fit(codebase: Codebase, embedder: Embedder) -> None:
    warm = technique("Learning rate warm-up", "The learning rate rises linearly at first.")
    cyclic = technique("Cyclic learning rate", "The learning rate falls along a cosine and restarts each period.")
    found = ground([TERN, warm, cyclic], codebase, embedder)
    assert places(found, warm)[0] == "training/rates.py::warmup_rate"
    assert places(found, cyclic)[0] == "training/rates.py::cyclic_rate"


def test_an_abbreviation_that_only_the_paper_explains(codebase: Codebase, embedder: Embedder) -> None:
    text = "We train with near embedding contraction (NEC) and nothing else."
    paper = Document(format="markdown", title="", abstract="", text=text)
    wanted = technique("Near embedding contraction", "Others are pushed away by a margin.")
    found = ground([wanted], codebase, embedder, paper)
    assert places(found, wanted)[:1] == ["losses.py::nec_loss"]


ADAPTER = (
    'class Adapter:\n    """Scores the candidates of a frozen model."""\n\n'
    "    def __init__(self, model):\n        self.model = model\n\n"
    "    def score(self, candidates):\n        return [self.model(c) for c in candidates]\n\n\n"
    "def shuffle(rows, seed):\n    return sorted(rows, key=lambda row: hash((row, seed)))\n"
)


def test_a_repository_named_after_the_method_need_not_say_its_name_inside(embedder: Embedder, tmp_path: Path) -> None:
    wanted = technique("Quill Adapter", "Candidates of a frozen black box are ranked.", None)
    scores = {}
    for folder in ("quill-adapter", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "model.py").write_text(ADAPTER)
        codebase = parse_repository(fetch_repository(str(tmp_path / folder), tmp_path / "cache"))
        scores[folder] = ground([wanted], codebase, embedder).of(wanted.id)[0].score
    assert scores["quill-adapter"] > scores["elsewhere"]


def test_a_symbol_called_what_the_technique_is_called_comes_before_longer_names(
    embedder: Embedder, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "solver.py").write_text(
        'def tern_loop(x):\n    """Retrieval of temporal echoes."""\n    return tern(x)\n\n\n'
        'def tern(x):\n    """Retrieval of temporal echoes."""\n    return x\n'
    )
    # The acronym is the whole name: nothing in the paper writes it out.
    wanted = technique("TERN", "Retrieval of temporal echoes.", None)
    codebase = parse_repository(fetch_repository(str(tmp_path / "code"), tmp_path / "cache"))
    assert ground([wanted], codebase, embedder).of(wanted.id)[0].symbol.endswith("::tern")


def test_what_the_technique_names_is_among_the_first_beside_who_uses_it(embedder: Embedder, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "losses.py").write_text(
        "class AdversarialObjective:\n"
        '    """Real and fake logits of the model, with a margin, as the discriminator sees them."""\n\n'
        "    def run(self, real_logits, fake_logits, margin=1.0):\n"
        "        # the discriminator on real and fake logits\n"
        "        objective = hinge_d_loss(real_logits, fake_logits)\n"
        "        return objective\n\n\n"
        "def hinge_d_loss(real, fake):\n    return relu(1.0 - real) + relu(1.0 + fake)\n\n\n"
        + "".join(f"def read_{i}(path):\n    return open(path, {i})\n\n\n" for i in range(6))
    )
    wanted = technique(
        "Hinge loss of the discriminator", "The discriminator is trained with a margin on real and fake logits.", None
    )
    codebase = parse_repository(fetch_repository(str(tmp_path / "code"), tmp_path / "cache"))
    found = [location.symbol.rpartition("::")[2] for location in ground([wanted], codebase, embedder).of(wanted.id)]
    assert "hinge_d_loss" in found[:2]


def test_code_is_cut_from_the_caller_that_comes_near_since_its_slice_holds_both(
    embedder: Embedder, tmp_path: Path
) -> None:
    example = Path(__file__).parents[3] / "examples" / "svgd"
    codebase = parse_repository(fetch_repository(str(example / "code"), tmp_path))
    document = parse_paper(example / "paper" / "svgd.tex")
    techniques = extract(document, "p").techniques
    wanted = next(t.id for t in techniques if t.name == "RBF Kernel with Median Heuristic")
    found = ground(techniques, codebase, embedder, document)
    best, second, *_ = (location.symbol.rpartition("::")[2] for location in found.of(wanted))
    assert (best, second) == ("median_bandwidth", "rbf_kernel")
    assert found.primaries[wanted].endswith("::rbf_kernel")


def test_names_in_equations_beside_the_definition_count() -> None:
    paper = Document(
        format="latex",
        title="",
        abstract="",
        text="It decays.\n$$ x $$",
        equations=(
            Equation(start=11, end=17, latex=r"\operatorname{halflife}(t) = \exp(-\lambda t) \left( \sigma \right)"),
        ),
    )
    decay = Technique(id="p#d", name="Decay", excerpts=(Excerpt(section="1", start=0, end=10),))
    query = technique_queries([decay], paper)[0]
    assert {"halflif", "exp", "lambda", "sigma"} <= set(query.definition)
    assert "left" not in query.definition


def test_scores_and_ranks_are_in_order_and_the_same_each_time(
    codebase: Codebase, embedder: Embedder, grounding: Grounding
) -> None:
    assert ground([TERN, *COMPONENTS], codebase, embedder) == grounding
    for wanted in [TERN, *COMPONENTS]:
        found = grounding.of(wanted.id)
        assert [location.rank for location in found] == list(range(1, len(found) + 1))
        scores = [location.score for location in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        assert len(found) <= 5


def test_nothing_to_locate_and_nowhere_to_look(codebase: Codebase, embedder: Embedder) -> None:
    repository = Repository(id="local:empty@0", url="empty")
    empty = Codebase(repository=repository)
    hollow = Codebase(repository=repository, modules=(Module(path="a.py", text=""),))
    assert ground([], codebase, embedder) == Grounding()
    assert ground([MEMORY], empty, embedder) == Grounding()
    assert ground([MEMORY], hollow, embedder) == Grounding()
    assert ground([technique("…")], codebase, embedder).locations == ()


class OneVector:
    """An embedder to which all texts are alike."""

    model = "one"
    dimension = 4

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=80)), max_size=6),
    st.lists(st.integers(min_value=-1, max_value=5), min_size=6, max_size=6),
)
def test_any_text_and_any_parents_are_answered(
    codebase: Codebase, texts: list[tuple[str, str]], parents: list[int]
) -> None:
    # Parents may be unknown, oneself, or form a ring: what a technique is part of must not hang or fail.
    given_ = [
        Technique(id=f"t{i}", name=name, definition=text, parent=f"t{parents[i]}" if parents[i] >= 0 else None)
        for i, (name, text) in enumerate(texts)
    ]
    found = ground(given_, codebase, OneVector())
    symbols = codebase.symbols()
    assert {at.technique for at in found.locations if not at.doubtful} == set(found.primaries)
    assert all(location.symbol in symbols for location in found.locations)


def test_search_ranks_by_words_by_vectors_and_by_both(codebase: Codebase, embedder: Embedder) -> None:
    index = SymbolIndex(codebase)
    queries = technique_queries([TERN, *COMPONENTS], None)
    search = SymbolSearch(index, queries, embedder.embed([q.text for q in queries]), embedder)
    for i in range(len(queries)):
        for ranking in (search.lexical[i], search.named[i], search.similarity[i]):
            assert list(ranking.values()) == sorted(ranking.values(), reverse=True)
            assert set(ranking) <= set(index.entries)
        fused = search.fused(i, 10)
        assert len(fused) == len(set(fused)) == 10
        # What leads two of the three searches leads the fused ranking's first few.
        firsts = [next(iter(r)) for r in (search.lexical[i], search.named[i], search.similarity[i]) if r]
        assert all(first in fused[:4] for first in firsts if firsts.count(first) > 1)


def test_a_large_repository_is_embedded_only_where_words_reach(embedder: Embedder, tmp_path: Path) -> None:
    for n in range(8):
        body = "".join(f"def filler_{n}_{i}(a):\n    return a + {i}\n\n\n" for i in range(100))
        (tmp_path / f"part{n}.py").write_text(body)
    (tmp_path / "kernel.py").write_text('def rbf(x, y):\n    """Gaussian kernel of two points."""\n    return x - y\n')
    codebase = parse_repository(fetch_repository(str(tmp_path), tmp_path))
    wanted = technique("Gaussian kernel", "A kernel of two points that falls with their distance.", None)
    embedded: list[str] = []

    class Counting:
        model = "counting"
        dimension = embedder.dimension

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            embedded.extend(texts)
            return embedder.embed(texts)

    found = ground([wanted], codebase, Counting())
    assert [location.symbol.rpartition("::")[2] for location in found.of(wanted.id)][:1] == ["rbf"]
    assert len(embedded) < 20


def test_a_rendering_is_short_and_leads_with_the_name(codebase: Codebase) -> None:
    index = SymbolIndex(codebase)
    for entry in index.entries.values():
        assert 0 < len(rendering(entry).split()) <= 45
    entry = next(e for e in index.entries.values() if e.id.endswith("::EchoMemory.read"))
    assert rendering(entry).startswith("echo memory read")
    assert "softmax" in rendering(entry)
