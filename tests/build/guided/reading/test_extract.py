import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.build.codebases import codebase_of
from tests.build.guided.fake_model import FakeModel
from xkg.build.guided.reading.extract import extract_with_model
from xkg.build.paper.document import Document
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import Extraction

DATA = Path(__file__).parents[3] / "data" / "extract"
PAPER = "title:tidecache"


@pytest.fixture(scope="module")
def document() -> Document:
    return parse_paper(DATA / "systems.tex")


def number_of(paper: str, words: str) -> int:
    """Returns the number of the passage in a prompt that contains these words."""
    found = [int(m[1]) for m in re.finditer(r"^\[(\d+)\] ([^\n]*)", paper, re.MULTILINE) if words in m[2]]
    assert len(found) == 1, (words, found)
    return found[0]


def component(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": "technique",
        "parent": None,
        "aliases": [],
        "definition": "It takes pages, writes them as one block, and gives the block's address.",
        "passages": [1],
        "code": [],
    } | fields


def answer(*components: dict[str, Any]) -> dict[str, Any]:
    return {"components": list(components)}


def good(inputs: Mapping[str, str]) -> dict[str, Any]:
    paper = inputs["paper"]
    return answer(
        component("Exponential Moving Average", parent="Look-ahead Prefetcher", aliases=["EMA"]),
        component(
            "TideCache",
            type="methodology",
            definition="A serving system that keeps idle keys and values on slower storage.",
            passages=[number_of(paper, "Serving language models with long contexts")],
        ),
        component("Page Coalescing", parent="TideCache", passages=[number_of(paper, "gathers the pages")]),
        component("Look-ahead Prefetcher", parent="tidecache", passages=[number_of(paper, "predicts when")]),
        component(
            "TideCache serves 2.3 times more requests",
            type="finding",
            definition="On two models it serves 2.3 times more.",
        ),
    )


def read(document: Document, *answers: Any, window: int = 128_000) -> tuple[Extraction, FakeModel]:
    model = FakeModel({"extract": list(answers)})
    return extract_with_model(document, PAPER, model, window), model


def test_a_hierarchy_with_ids_and_places(document: Document) -> None:
    found, model = read(document, good)
    assert [(t.id, t.depth, t.kind) for t in found.techniques] == [
        (f"{PAPER}#tidecache", 0, "methodology"),
        (f"{PAPER}#tidecache/page-coalescing", 1, "technique"),
        (f"{PAPER}#tidecache/look-ahead-prefetcher", 1, "technique"),
        (f"{PAPER}#tidecache/look-ahead-prefetcher/exponential-moving-average", 2, "technique"),
    ]
    coalescing = found.techniques[1]
    assert coalescing.parent == found.techniques[0].id
    assert coalescing.weight == pytest.approx(0.5)
    (excerpt,) = coalescing.excerpts
    assert "one contiguous block" in document.text[excerpt.start : excerpt.end]
    assert (excerpt.section, excerpt.path) == ("Page coalescing", "systems.tex")
    assert document.place(excerpt.start) == (excerpt.path, excerpt.line)
    assert [f.id for f in found.findings] == [f"{PAPER}#finding/1"]
    assert [(about, complaint) for _, about, _, complaint in model.requests] == [(document.title, None)]


def test_procedures_outside_the_method_are_hidden_with_the_reason_and_code_is_a_place(document: Document) -> None:
    body = "    a = x\n    b = a\n    return b\n\n"
    names = ("gather", "least_recent", "smooth", "plot")
    codebase = codebase_of({"m.py": "".join(f"def {name}(x):\n{body}" for name in names)})
    top = f"{codebase.repository.id}:m.py::"

    def listed(inputs: Mapping[str, str]) -> dict[str, Any]:
        assert inputs["code"].splitlines()[1] == "2. m.py: def least_recent(x)"
        average, cache, coalescing, *others = good(inputs)["components"]
        lru = component("Least Recent First", type="outside", definition="only compared with", code=[2])
        known = component("page coalescing", type="outside", definition="it is listed")
        return answer(average | {"code": [3, 9]}, cache, coalescing | {"code": [1, 1]}, *others, lru, known)

    found = extract_with_model(document, PAPER, FakeModel({"extract": listed}), 128_000, codebase)
    coalescing, average = found.techniques[1].id, found.techniques[3].id
    assert found.places == {coalescing: (f"{top}gather",), average: (f"{top}smooth",)}
    assert found.nothing_in == (f"{top}plot",)
    (hidden,) = found.outside
    assert (hidden.id, hidden.parent) == (f"{PAPER}#tidecache/least-recent-first", f"{PAPER}#tidecache")
    assert hidden.hidden == "not part of the paper's method: only compared with (in the repository: m.py::least_recent)"


def test_a_sentence_that_stays_faulty_is_left_out(document: Document) -> None:
    kept, foreign = "It writes pages as one block.", "It holds the pages in 77 queues."
    wrong = answer(component("Page Coalescing", definition=f"{kept} {foreign}"))
    found, model = read(document, wrong, wrong)
    assert "77 in the definition of 'Page Coalescing' does not occur" in (model.requests[0][3] or "")
    assert found.techniques[0].definition == kept
    nothing = answer(component("Page Coalescing", definition=foreign))
    assert read(document, nothing, nothing, wrong)[1].requests[1][3]


def test_what_the_paper_releases_is_there_even_where_the_model_passes_over_it(document: Document) -> None:
    found, _ = read(document, good)
    assert [(r.id, r.description) for r in found.resources] == [
        (f"{PAPER}#resource/1", "Code: https://github.com/example/tidecache")
    ]

    def with_release(inputs: Mapping[str, str]) -> dict[str, Any]:
        released = component("TideCache code", type="resource", definition="At github.com/example/tidecache.")
        return answer(*good(inputs)["components"], released)

    assert [r.name for r in read(document, with_release)[0].resources] == ["TideCache code"]


@pytest.mark.parametrize(("given", "kept"), [("cs.LG", "cs.LG"), ("astro-ph", "astro-ph"), ("Deep learning", None)])
def test_the_model_names_the_arxiv_category(document: Document, given: str, kept: str | None) -> None:
    extraction, _ = read(document, lambda inputs: good(inputs) | {"subfield": given})
    assert extraction.subfield == kept


def test_a_parent_may_be_named_by_its_alias_and_parts_are_techniques(document: Document) -> None:
    found, _ = read(
        document,
        answer(component("Tiered Cache (TC)"), component("Block Writer", type="methodology", parent="TC")),
    )
    assert [(t.name, t.depth, t.kind) for t in found.techniques] == [
        ("Tiered Cache", 0, "technique"),
        ("Block Writer", 1, "technique"),
    ]


@pytest.mark.parametrize(
    ("components", "words"),
    [
        ([], "no methodology"),
        ([component("Page Coalescing", parent="Storage Engine")], "'Storage Engine'"),
        ([component("A Claim", type="finding"), component("Page Coalescing", parent="A Claim")], "'A Claim'"),
        ([component("Cache A", parent="Cache B"), component("Cache B", parent="Cache A")], "cycle"),
        ([component("Page Coalescing"), component("page coalescing")], "twice"),
        ([component("Page Coalescing", definition="  ")], "no definition"),
        ([component("  ")], "no name"),
        ([component("Our loss")], "academic name"),
        ([component("Page Coalescing", definition="It works as in Section 3.")], "'Section 3'"),
        ([component("Page Coalescing", definition="It writes blocks of 1.6 MB.")], "1.6 in the definition"),
        ([component("Page Coalescing", passages=[0, 4000])], "cites no passage"),
        ([component(f"Cache Number {n} of Many") for n in range(60)], "too many"),
        (
            [
                component("Page Coalescing"),
                component("Code", type="resource", definition="https://github.com/else/where"),
            ],
            "github.com/else/where",
        ),
    ],
)
def test_a_certain_error_is_sent_back(document: Document, components: list[dict[str, Any]], words: str) -> None:
    found, model = read(document, answer(*components), good)
    assert words in (model.requests[0][3] or "")
    assert found.techniques[0].name == "TideCache"


@pytest.mark.parametrize(
    "name",
    ["Batch Step", "Multiple Instance Learning", "Adam", "k-Means", "L2 Regularization", "Top-k Sampling", "U-Net",
     "Stage-wise Training", "Section Pooling", "Policy Gradient with Baseline", "Step Size Adaptation", "DPO"],
)  # fmt: skip
def test_names_that_are_no_fault(document: Document, name: str) -> None:
    assert read(document, answer(component(name)))[1].requests[0][3] is None
