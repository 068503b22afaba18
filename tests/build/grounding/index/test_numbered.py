import pytest

from tests.build.codebases import codebase_of
from xkg.build.grounding.ground import ground
from xkg.build.grounding.index.numbered import references
from xkg.build.grounding.query import technique_queries
from xkg.build.paper.document import Algorithm, Document, Equation
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Excerpt, Technique


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the update of Eq. (8)", ["eq:8"]),
        ("see eqs. (3)-(5) and Algorithm 2, line 3", ["eq:3", "eq:4", "eq:5", "alg:2"]),
        ("Equation 2.1a, Eqn. A.2", ["eq:2.1a", "eq:a.2"]),
        ("equations 9 and 10", ["eq:9", "eq:10"]),
        ("equal to 3, algebra 2, an equation of 4 terms", []),
    ],
)
def test_the_numbers_that_prose_refers_to(text: str, found: list[str]) -> None:
    assert list(references(text)) == found


TEXT = "We turn the eggs. $x$ is then set as in eq. (7)."
TURN = Technique(
    id="p#turn",
    name="Egg turning",
    definition="The eggs are turned by a step along their axis.",
    excerpts=(Excerpt(section="Method", start=0, end=len(TEXT)),),
)


def document(number: str) -> Document:
    return Document(
        format="latex",
        title="Eggs",
        abstract="",
        text=TEXT,
        equations=(Equation(start=20, end=24, latex="x", numbers=(number,)),),
        algorithms=(
            Algorithm(start=1000, end=1010, title="Hatching", body="wait"),
            Algorithm(start=10, end=15, title="Turning", body="turn"),
        ),
    )


def test_the_numbers_beside_a_technique() -> None:
    (query,) = technique_queries([TURN], document("12"))
    assert query.numbers == {"eq:12", "eq:7", "alg:2"}


@pytest.mark.parametrize(("number", "first"), [("12", "one"), ("13", "two")])
def test_of_two_like_functions_the_one_with_the_equation_s_number_is_first(number: str, first: str) -> None:
    code = "".join(
        f"def {name}(eggs, step):\n    # Turning of eggs by a step along their axis, Eq. ({n}).\n"
        "    return [egg + step for egg in eggs]\n\n\n"
        for name, n in (("one", 12), ("two", 13))
    )
    filler = "".join(f"def shelf{i}(a):\n    return a * {i}\n\n\n" for i in range(12))
    found = ground([TURN], codebase_of({"turn.py": code + filler}), OnnxEmbedder(), document(number))
    assert found.of(TURN.id)[0].symbol.endswith(f"::{first}")
