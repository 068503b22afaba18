"""Functions and classes that no technique's code reaches."""

import pytest

from tests.build.slicing.test_slice import codebase_of
from xkg.build.guided.reading.passages import Passages, read_passages
from xkg.build.guided.reading.untouched import MOST, untouched
from xkg.build.paper.read import parse_paper

FILES = {
    "mh.py": '''
def accept(old, new):
    ratio = new / old
    ratio = min(1, ratio)
    return ratio

def mh_sample(scores):
    last = scores[0]
    for score in scores:
        last = accept(last, score)
    return last

def rejection_sample(scores):
    """Rejection scheme with a bound."""
    bound = max(scores)
    kept = [s for s in scores if s / bound > 0.5]
    return kept

def _private(x):
    a = x
    b = a
    return b

SAMPLERS = {"mh": mh_sample, "drs": rejection_sample}

def enhance(scores, name):
    pick = SAMPLERS[name]
    picked = pick(scores)
    assert picked
    return picked
''',
    "tests/test_mh.py": "def test_all():\n    a = 1\n    b = 2\n    assert a != b\n",
}


@pytest.fixture(scope="module")
def passages(tmp_path_factory: pytest.TempPathFactory) -> Passages:
    path = tmp_path_factory.mktemp("paper") / "paper.tex"
    path.write_text(
        r"""\documentclass{article}\title{T}\begin{document}\maketitle
\section{Related work}
Another sampler is rejection sampling, which needs a bound of the ratio of the densities.
\section{Method}
The chain moves to a proposal with a probability.
\end{document}"""
    )
    return read_passages(parse_paper(path))


def test_what_located_code_reaches_is_not_asked_about_and_alternatives_in_a_table_are(passages: Passages) -> None:
    codebase = codebase_of(FILES)
    top = f"{codebase.repository.id}:mh.py::enhance"
    chain = f"{codebase.repository.id}:mh.py::mh_sample"
    found = untouched(codebase, [top, chain], passages)
    assert [each.symbol.qualified_name for each in found] == ["rejection_sample"]
    assert found[0].passage is not None
    assert "needs a bound" in found[0].text
    assert "Rejection scheme" in found[0].text


def test_at_most_twelve_with_those_first_that_the_paper_names(passages: Passages) -> None:
    many = "".join(f"def helper{n}(x):\n    a = x\n    b = a\n    return b\n\n" for n in range(30))
    codebase = codebase_of({**FILES, "a.py": many})
    found = untouched(codebase, [], passages)
    assert len(found) == MOST
    assert found[0].symbol.qualified_name == "rejection_sample"


def test_the_methods_of_a_located_class_and_the_class_of_a_located_method_are_touched(passages: Passages) -> None:
    body = "        a = x\n        b = a\n        return b\n"
    text = f"class Walk:\n    def go(self, x):\n{body}\n    def stop(self, x):\n{body}\n"
    codebase = codebase_of({"w.py": text})
    assert untouched(codebase, [f"{codebase.repository.id}:w.py::Walk.go"], passages) == []
