"""Candidates, their features, and which of them are added."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from xkg.build.paper.read import parse_paper
from xkg.build.techniques.definitions import read
from xkg.build.techniques.extract import extract
from xkg.build.techniques.learned.candidates import Candidate, candidates, phrases
from xkg.build.techniques.learned.choice import distinct, probability
from xkg.build.techniques.learned.features import Features
from xkg.build.techniques.names import abbreviations, key
from xkg.model import Technique

_BODY = (
    "\\documentclass{article}\n\\title{Tern Sampling with Nest Pruning}\n\\begin{document}\n\\maketitle\n"
    "\\section{Introduction}\nWe propose Tern Sampling (TS).\n"
    "\\section{Preliminaries}\nThe feather filter \\cite{a} is due to others.\n"
    "\\section{Method}\n\\subsection{Nest Pruning: Dropping Idle Nests}\nWe prune nests with \\emph{quill masks} and "
    "the feather filter.\n\\begin{algorithm}\\caption{Training of the shell decoder}\\end{algorithm}\n"
    "\\section{Experiments}\nTS wins.\n\\end{document}\n"
)


_LIKELY = (
    "\\documentclass{article}\n\\title{Tern Sampling with Nest Pruning}\n\\begin{document}\n\\maketitle\n"
    "\\section{Introduction}\nWe propose Tern Sampling (TS).\n\\section{Method}\nTS has two parts.\n"
    "\\subsection{Hatching Network}\nThe hatching network maps eggs to birds with a radial basis function kernel. "
    "The radial basis function kernel \\cite{a} weighs eggs: \\[k = 1\\] Birds leave.\n"
    "\\section{Experiments}\nTS wins with the radial basis function kernel.\n\\end{document}\n"
)


def _techniques(folder: Path, text: str) -> tuple[Technique, ...]:
    path = folder / "paper.tex"
    path.write_text(text, encoding="utf-8")
    return extract(parse_paper(path), "title:tern").techniques


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


def test_what_is_likely_is_added_below_what_structure_marks(tmp_path: Path) -> None:
    found = {t.name: t for t in _techniques(tmp_path, _LIKELY)}
    assert found["radial basis function kernel"].parent == found["Hatching Network"].id
    assert not {"egg", "eggs", "birds"} & found.keys()


def test_the_long_form_of_an_abbreviated_technique_is_not_added_again(tmp_path: Path) -> None:
    again = _LIKELY.replace("TS has two parts.", "TS has two parts.\n\\subsection{RBF Kernel Updates}\nThey are small.")
    names = [t.name for t in _techniques(tmp_path, again)]
    assert "RBF Kernel Updates" in names
    assert "radial basis function kernel" not in names


@given(st.dictionaries(st.text(min_size=1), st.floats(-1e6, 1e6)), st.floats(-1e3, 1e3))
def test_a_probability_is_one(features: dict[str, float], intercept: float) -> None:
    assert 0 <= probability(features, {"": intercept, **dict.fromkeys(features, 1.0)}) <= 1
    assert probability(features, {"": intercept}) == probability({}, {"": intercept})


@given(st.text())
def test_phrases_are_words_of_the_text(text: str) -> None:
    for phrase in phrases(text):
        assert all(word in text for word in phrase.split())
