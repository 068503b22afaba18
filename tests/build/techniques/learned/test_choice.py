"""Candidates, their features, and which of them are added."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.build.techniques.papers import techniques
from xkg.build.paper.read import parse_paper
from xkg.build.techniques.definitions import read
from xkg.build.techniques.learned.candidates import Candidate, candidates, phrases
from xkg.build.techniques.learned.choice import distinct, probability
from xkg.build.techniques.learned.features import Features
from xkg.build.techniques.names import abbreviations, key

_BODY = (
    "\\documentclass{article}\n\\title{Tern Sampling with Nest Pruning}\n\\begin{document}\n\\maketitle\n"
    "\\section{Introduction}\nWe propose Tern Sampling (TS).\n"
    "\\section{Preliminaries}\nThe feather filter \\cite{a} is due to others.\n"
    "\\section{Method}\n\\subsection{Nest Pruning: Dropping Idle Nests}\nWe prune nests with \\emph{quill masks} and "
    "the feather filter.\n\\begin{algorithm}\\caption{Training of the shell decoder}\\end{algorithm}\n"
    "\\section{Experiments}\nTS wins.\n\\end{document}\n"
)


def _read(folder: Path, text: str = _BODY) -> tuple[list[Candidate], Features]:
    path = folder / "paper.tex"
    path.write_text(text, encoding="utf-8")
    reader, parts = read(parse_paper(path))
    found = candidates(reader, parts, abbreviations(s.text for s in reader.sentences))
    return found, Features(reader, found)


def test_candidates_come_from_headings_captions_title_emphases_abbreviations_and_phrases(tmp_path: Path) -> None:
    found, _ = _read(tmp_path)
    kinds = {key(c.name): set(c.kinds) for c in found}
    assert {"title", "subsection"} <= kinds[key("Nest Pruning")]
    assert "algorithm" in kinds[key("shell decoder")]
    assert {"abbreviation", "propose"} & kinds[key("Tern Sampling")]
    assert "emphasis" in kinds[key("quill masks")]
    assert "phrase" in kinds[key("feather filter")]
    assert next(c.names for c in found if c.name == "Tern Sampling") == ["Tern Sampling", "TS"]


def test_titles_of_definitions_are_candidates(tmp_path: Path) -> None:
    body = (
        "\\documentclass{article}\n\\newtheorem{defn}{Definition}\n\\begin{document}\n\\section{Nests}\n"
        "\\begin{defn}[Egg Weight (of birds)] Eggs weigh.\\end{defn}\n\\begin{defn}[Quill Order] Long ones first."
        "\\end{defn}\n\\begin{defn} A tern (white bird) flies.\\end{defn}\n\\end{document}\n"
    )
    found, _ = _read(tmp_path, body)
    assert [c.name for c in found if "definition" in c.kinds] == ["Egg Weight", "Quill Order"]


def test_features_of_where_a_candidate_stands(tmp_path: Path) -> None:
    found, features = _read(tmp_path)
    of = {key(c.name): features.of(c) for c in found}
    cited = of[key("feather filter")]
    assert cited["cited at first"] == 1
    assert cited["mentions: method"] > 0
    assert cited["mentions: background"] > 0
    assert of[key("quill masks")]["cited at first"] == 0
    assert of[key("Nest Pruning")]["heading: method"] == 1
    assert of[key("Nest Pruning")]["in title"] == 1
    assert not any(name.startswith("heading: ") for name in cited)


def test_what_one_heading_names_is_one_technique(tmp_path: Path) -> None:
    found, _ = _read(tmp_path)
    whole = next(c for c in found if c.name == "Nest Pruning: Dropping Idle Nests")
    part = next(c for c in found if c.name == "Dropping Idle Nests")
    assert distinct([whole, part]) == [whole]
    assert distinct([part, whole]) == [part]


def test_names_of_one_technique_are_one() -> None:
    long, again, other = Candidate("Tern Sampling", "TS"), Candidate("slow Tern Sampling"), Candidate("Nest Pruning")
    assert distinct([long, again, other]) == [long, other]


def test_a_component_that_headings_only_mention(tmp_path: Path) -> None:
    found = techniques(
        tmp_path,
        "TS has two parts.\n\\subsection{Egg rotation for the hatching network}\nWe rotate eggs: \\[r = 1\\]\n"
        "The hatching network maps eggs to birds. We train the hatching network slowly: \\[h = 2\\]\n",
    )
    assert found["hatching network"].parent == found["Egg rotation for the hatching network"].id
    assert found["hatching network"].definition.startswith("The hatching network maps eggs to birds.")


@given(st.dictionaries(st.text(min_size=1), st.floats(-1e6, 1e6)), st.floats(-1e3, 1e3))
def test_a_probability_is_one(features: dict[str, float], intercept: float) -> None:
    assert 0 <= probability(features, {"": intercept, **dict.fromkeys(features, 1.0)}) <= 1
    assert probability(features, {"": intercept}) == probability({}, {"": intercept})


@given(st.text())
def test_phrases_are_words_of_the_text(text: str) -> None:
    for phrase in phrases(text):
        assert all(word in text for word in phrase.split())
