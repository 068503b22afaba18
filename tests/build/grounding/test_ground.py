"""Locates techniques in a small repository with the default embedding model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.build.codebases import codebase_of
from xkg.build.code.codebase import Codebase, Module
from xkg.build.code.repository import parse_repository
from xkg.build.grounding.ground import PLACES, Grounding, ground
from xkg.build.grounding.query import technique_queries
from xkg.build.paper.document import Document, Equation, Section
from xkg.build.repositories.checkout import fetch_repository
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
    technique("Rotary position embedding", "Rotate queries and keys of attention heads by their token positions."),
    technique("Federated averaging", "Clients train on local data and a server averages their model parameters."),
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
    assert grounding.primaries.get(wanted.id, symbol).endswith(symbol)


def test_a_plot_is_found_for_a_technique_about_plotting(codebase: Codebase, embedder: Embedder) -> None:
    plotting = technique("Plotting the echo memory", "A figure shows the slots of past spectra, the oldest slot first.")
    assert places(ground([plotting], codebase, embedder), plotting)[0] == "plots.py::plot_echo_memory"


def test_what_the_repository_does_not_hold_is_weak(codebase: Codebase, embedder: Embedder) -> None:
    found = ground([*FOREIGN, technique("…")], codebase, embedder)
    assert not found.primaries
    assert not found.certain
    assert len(found.doubtful) <= 1
    assert {place.confidence for place in found.of(FOREIGN[2].id)} == {"weak"}
    assert not found.of(f"{TERN.id}/…"), "no word and no meaning of it fits"


def test_among_its_own_techniques_a_foreign_one_is_still_not_certain(codebase: Codebase, embedder: Embedder) -> None:
    found = ground([TERN, *COMPONENTS, *FOREIGN], codebase, embedder)
    assert not {t.id for t in FOREIGN} & ({*found.primaries} | found.certain)
    assert all(found.of(t.id) for t in [TERN, *COMPONENTS])


def test_a_script_is_located_as_a_file_even_if_it_defines_a_helper(embedder: Embedder) -> None:
    files = {path.relative_to(DATA).as_posix(): path.read_text() for path in DATA.rglob("*.py")}
    script = files["scripts/sharpness_sweep.py"]
    files["scripts/sharpness_sweep.py"] = f"def retrieval(hits, spectra):\n    return hits / len(spectra)\n\n\n{script}"
    codebase = codebase_of(files, "local:tern@0")
    sweep = technique("Sharpness sweep", "The accuracy of retrieval for each sharpness of reading.")
    found = ground([sweep], codebase, embedder)
    assert found.of(sweep.id)[0].symbol == f"{codebase.repository.id}:scripts/sharpness_sweep.py"


def test_only_a_first_place_is_certain(grounding: Grounding) -> None:
    assert {MEMORY.id, GATE.id, CONTRAST.id} <= grounding.certain
    for wanted in COMPONENTS:
        assert all(place.doubtful for place in grounding.of(wanted.id)[1:])
    assert {*grounding.primaries} == grounding.certain


RIVAL = """class EchoMemoryBank:
    \"\"\"Slots of past spectra; the oldest slot is overwritten.\"\"\"

    def put(self, spectrum):
        self.slots[self.oldest] = spectrum
        self.oldest = (self.oldest + 1) % len(self.slots)
"""


@pytest.mark.parametrize("rival", ["none", "a copy", "a variant beside it", "other code"])
def test_a_place_is_certain_only_if_no_code_of_another_file_comes_near(rival: str, embedder: Embedder) -> None:
    files = {path.relative_to(DATA).as_posix(): path.read_text() for path in DATA.rglob("*.py")}
    if rival == "a variant beside it":
        files["tern/memory.py"] += f"\n\n{RIVAL}"
    elif rival != "none":
        files["tern/rival.py"] = files["tern/memory.py"] if rival == "a copy" else RIVAL
    found = ground([MEMORY], codebase_of(files, "local:tern@0"), embedder)
    assert bool(found.certain) == (rival != "other code")


CUT = '''class CutFilter:
    """Keeps tokens above a share of the top token's probability; an alternative to nucleus sampling."""

    def __init__(self, base):
        self.base = base

    def __call__(self, probabilities):
        kept = probabilities * (probabilities >= self.base * probabilities.max())
        return kept / kept.sum()


class TokenDataset(Dataset):
    """Reads the tokens of a text, of which cut sampling is trained."""

    def __getitem__(self, index):
        return self.tokens[index] + self.offset


class CutSchedule:
    """The cut schedule."""

    def rate(self, step):
        raise NotImplementedError
'''


CUT_SAMPLING = codebase_of({"cut.py": CUT})


def test_a_method_that_a_paper_only_compares_with_gets_no_code_of_another_name(embedder: Embedder) -> None:
    text = "# Cut sampling\n\nCut sampling keeps tokens.\n\n# Related Work\n\nNucleus sampling keeps top tokens.\n"
    heading, at = text.index("# Related Work"), text.index("Nucleus")
    sections = (
        Section(title="Cut sampling", level=1, start=0, body_start=15, end=heading),
        Section(title="Related Work", level=1, start=heading, body_start=heading + 14, end=len(text)),
    )
    paper = Document(format="markdown", title="", abstract="", text=text, sections=sections)
    nucleus = Technique(
        id="p#nucleus",
        name="Nucleus sampling",
        definition="Keeps the tokens above a share of the top token's probability.",
        excerpts=(Excerpt(section="Related Work", start=at, end=at + 30),),
    )
    found = ground([nucleus], CUT_SAMPLING, embedder, paper)
    assert not found.primaries
    assert {place.confidence for place in found.of(nucleus.id)} == {"weak"}


def test_a_class_belongs_to_the_technique_whose_name_fits_it_better(embedder: Embedder) -> None:
    sampling = technique("Cut sampling", "Keeps tokens above a share of the top token's probability.", None)
    rival = technique("Cut filter", "Keeps tokens above a share of the top token's probability.", None)
    assert sampling.id in ground([sampling], CUT_SAMPLING, embedder).primaries
    assert [*ground([sampling, rival], CUT_SAMPLING, embedder).primaries] == [rival.id]


@pytest.mark.parametrize(
    ("name", "definition", "cut"),
    [
        ("Token dataset", "", True),  # the query names the data set itself
        ("Token reader", "Reads the tokens of a text.", False),
        ("Cut schedule", "Tokens of a text.", False),
    ],
)
def test_no_code_is_cut_from_stubs_or_data_readers(name: str, definition: str, cut: bool, embedder: Embedder) -> None:
    wanted = technique(name, definition, None)
    found = ground([wanted], CUT_SAMPLING, embedder)
    assert found.of(wanted.id)
    assert bool(found.primaries) == cut


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


def test_a_repository_named_after_the_method_need_not_say_its_name_inside(embedder: Embedder) -> None:
    wanted = technique("Quill Adapter", "Candidates of a frozen black box are ranked.", None)
    named, other = (codebase_of({"model.py": ADAPTER}, f"local:{name}@0") for name in ("quill-adapter", "elsewhere"))
    scores = [ground([wanted], codebase, embedder).of(wanted.id)[0].score for codebase in (named, other)]
    assert scores[0] > scores[1]


def test_a_symbol_called_what_the_technique_is_called_comes_before_longer_names(embedder: Embedder) -> None:
    # The acronym is the whole name, because the paper never spells it out.
    wanted = technique("TERN", "Retrieval of temporal echoes.", None)
    codebase = codebase_of(
        {
            "solver.py": 'def tern_loop(x):\n    """Retrieval of temporal echoes."""\n    return tern(x)\n\n\n'
            'def tern(x):\n    """Retrieval of temporal echoes."""\n    return x\n'
        }
    )
    assert ground([wanted], codebase, embedder).of(wanted.id)[0].symbol.endswith("::tern")


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


def test_scores_and_ranks_are_ordered_and_stable(codebase: Codebase, embedder: Embedder, grounding: Grounding) -> None:
    assert ground([TERN, *COMPONENTS], codebase, embedder) == grounding
    for wanted in [TERN, *COMPONENTS]:
        found = grounding.of(wanted.id)
        assert [location.rank for location in found] == list(range(1, len(found) + 1))
        scores = [location.score for location in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        assert len(found) <= PLACES


def test_nothing_to_locate_and_nowhere_to_look(codebase: Codebase, embedder: Embedder) -> None:
    repository = Repository(id="local:empty@0", url="empty")
    empty = Codebase(repository=repository)
    hollow = Codebase(repository=repository, modules=(Module(path="a.py", text=""),))
    assert ground([], codebase, embedder) == Grounding()
    assert ground([MEMORY], empty, embedder) == Grounding()
    assert ground([MEMORY], hollow, embedder) == Grounding()
    assert ground([technique("…")], codebase, embedder).locations == ()


class OneVector:
    model = "one"
    dimension = 4

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=80)), max_size=6),
    st.lists(st.integers(min_value=-1, max_value=5), min_size=6, max_size=6),
)
def test_any_texts_and_parents_are_taken(codebase: Codebase, texts: list[tuple[str, str]], parents: list[int]) -> None:
    # Parents may be unknown, form a cycle, or be the technique itself. No such parent may cause a hang or a failure.
    given_ = [
        Technique(id=f"t{i}", name=name, definition=text, parent=f"t{parents[i]}" if parents[i] >= 0 else None)
        for i, (name, text) in enumerate(texts)
    ]
    found = ground(given_, codebase, OneVector())
    symbols = codebase.symbols()
    assert {*found.primaries} <= found.certain
    assert all(location.symbol in symbols for location in found.locations)


def test_a_large_repository_is_embedded_only_where_words_reach(embedder: Embedder) -> None:
    files = {"kernel.py": 'def rbf(x, y):\n    """Gaussian kernel of two points."""\n    return x - y\n'}
    for n in range(8):
        files[f"part{n}.py"] = "".join(f"def filler_{n}_{i}(a):\n    return a + {i}\n\n\n" for i in range(100))
    codebase = codebase_of(files)
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
