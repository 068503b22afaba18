from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.paper.document import Document
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import Extraction, extract
from xkg.build.techniques.introduced import defines
from xkg.build.techniques.names import is_name
from xkg.model import Technique

DATA = Path(__file__).parents[2] / "data" / "extract"
PAPERS = ("systems.tex", "theory.tex", "unnamed.md", "note.md")


def read(name: str) -> tuple[Document, Extraction]:
    document = parse_paper(DATA / name)
    return document, extract(document, "title:test")


def tree(extraction: Extraction) -> list[tuple[int, str]]:
    return [(t.depth, t.name) for t in extraction.techniques if t.hidden is None]


def named(extraction: Extraction, name: str) -> Technique:
    return next(t for t in extraction.techniques if t.name == name)


def test_systems_paper_with_run_in_headings() -> None:
    _, found = read("systems.tex")
    assert tree(found) == [
        (0, "TideCache"),
        (1, "Paged attention"),
        (1, "Page coalescing"),
        (1, "TideCache look-ahead prefetcher"),
        (1, "TideCache deadline-aware scheduler"),
        (1, "TideCache crash recovery"),
    ]
    assert named(found, "TideCache").kind == "methodology"
    assert named(found, "Page coalescing").definition.startswith("Page coalescing gathers the pages of an idle request")
    assert "predicts when the next turn" in named(found, "TideCache look-ahead prefetcher").definition
    assert [r.description for r in found.resources] == ["Code: https://github.com/example/tidecache"]
    assert any("2.3 times more requests" in f.name for f in found.findings)


def test_theory_paper_keeps_proofs_and_notation_out() -> None:
    _, found = read("theory.tex")
    assert tree(found) == [(0, "AMS"), (1, "AMS anchor schedule"), (1, "AMS Adaptive step sizes")]
    assert named(found, "AMS").aliases == ("anchored mirror steps",)
    assert "sets" in named(found, "AMS anchor schedule").definition


def test_paper_whose_headings_name_no_role() -> None:
    _, found = read("unnamed.md")
    assert tree(found) == [
        (0, "patch voting"),
        (1, "Surface table"),
        (1, "Vote pooling"),
        (2, "Mode seeking"),
        (2, "Confidence gating"),
    ]
    assert [r.description for r in found.resources] == ["Code: https://github.com/example/patch-voting"]
    assert named(found, "Mode seeking").definition.startswith("Votes are pooled by mean shift")


def test_a_name_in_capitals_may_be_a_common_word() -> None:
    text = "We propose FIRST (Floor-Informed Scoring Test), a rule that scores each step. FIRST is fast."
    document = Document(format="markdown", title="Scores", abstract=text, text=text, abstract_span=(0, len(text)))
    assert tree(extract(document, "title:scores")) == [(0, "FIRST")]


def test_paper_without_sections() -> None:
    _, found = read("note.md")
    assert tree(found) == [(0, "gradient echo")]
    assert named(found, "gradient echo").definition.startswith("We propose gradient echo, a regularizer")


@pytest.mark.parametrize("name", PAPERS)
def test_definitions_are_the_paper_s_own_words(name: str) -> None:
    document, found = read(name)
    for technique in found.techniques:
        assert technique.definition == " ".join(plain(document, e.start, e.end) for e in technique.excerpts)
        assert technique.definition[-1] in ".!:)"
        for excerpt in technique.excerpts:
            assert excerpt.path == name
            assert document.place(excerpt.start) == (excerpt.path, excerpt.line)


def well_formed(found: Extraction) -> None:
    seen: dict[str, Technique] = {}
    for technique in found.techniques:
        assert technique.id not in seen
        assert technique.parent is None or technique.parent in seen
        assert technique.depth == (0 if technique.parent is None else seen[technique.parent].depth + 1)
        assert technique.name.strip()
        assert len(technique.name.split()) <= 8
        seen[technique.id] = technique
    for parent in {t.parent for t in found.techniques}:
        assert sum(t.weight for t in found.techniques if t.parent == parent) == pytest.approx(1)


@pytest.mark.parametrize(
    "title",
    [
        "Overview",
        "Our approach",
        "The proposed framework",
        "Figure 3",
        "Brown et al. (2020)",
        "DPO avoids toxic regions",
        "How does it scale?",
        "",
    ],
)
def test_what_is_no_name(title: str) -> None:
    assert not is_name(title)


@pytest.mark.parametrize("title", ["Patchification", "Offline RL with FRE", "Batch step", "TD3+BC", "iCaRL"])
def test_what_is_a_name(title: str) -> None:
    assert is_name(title)


def test_only_an_abstract() -> None:
    text = "We propose Quiet Sampling (QS), a sampler that skips noisy steps. QS is twice as fast."
    document = Document(
        format="markdown", title="Quiet Sampling", abstract=text, text=text, abstract_span=(0, len(text))
    )
    found = extract(document, "title:quiet-sampling")
    assert tree(found) == [(0, "QS")]
    assert found.techniques[0].aliases == ("Quiet Sampling",)
    assert found.techniques[0].definition.startswith("We propose Quiet Sampling")


def test_three_hundred_sections(tmp_path: Path) -> None:
    body = "".join(f"## Part {i} of tuning\n\nWe compute tuning number {i} by sampling.\n\n" for i in range(300))
    path = tmp_path / "paper.md"
    path.write_text(f"# Many parts\n\n{body}")
    found = extract(parse_paper(path), "title:many")
    well_formed(found)
    assert len(found.techniques) <= 40


HEADINGS = st.sampled_from(
    [
        "# T\n",
        "## Method\n",
        "## ",
        "### X" * 50 + "\n",
        "\\section{",
        "\\section*{3. Method}\n",
        "**Bold.** ",
        "$$",
        "\\[",
        "```\n",
    ]
)


@given(st.lists(st.one_of(HEADINGS, st.text(max_size=60), st.just("We propose X Step (XS), a step. ")), max_size=20))
def test_no_text_breaks_it(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    path = tmp_path_factory.mktemp("any") / "paper.md"
    path.write_text("Words. " + "".join(pieces), encoding="utf-8", errors="replace")
    document = parse_paper(path)
    found = extract(document, "title:any")
    well_formed(found)
    for technique in found.techniques:
        assert technique.definition == " ".join(plain(document, e.start, e.end) for e in technique.excerpts)


SVGD = Path(__file__).parents[3] / "examples" / "svgd" / "paper" / "svgd.tex"


def test_headings_of_what_is_computed_and_terms_emphasised_where_they_are_defined() -> None:
    found = extract(parse_paper(SVGD), "title:test")
    assert tree(found) == [
        (0, "Stein Variational Gradient Descent"),
        (1, "Stein Update Direction"),
        (2, "repulsive force"),
        (1, "RBF Kernel with Median Heuristic"),
        (2, "median heuristic"),
        (1, "Adaptive Step Size"),
        (1, "Minibatch Score Estimation"),
        (1, "Kernelized Stein Discrepancy"),
    ]
    assert "prevents them from collapsing" in named(found, "repulsive force").definition


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The decoy gate is the product of two masks.", True),
        ("The last term is the decoy gate: it closes early.", True),
        ("Each layer adds a decoy gate, which closes early.", True),
        ("We do not rely on any decoy gate at test time.", False),
        ("It is a decoy gate of the kind that others use.", False),
    ],
)
def test_a_sentence_that_says_what_a_term_is_defines_it(sentence: str, expected: bool) -> None:
    assert defines(sentence, "decoy gate") is expected
