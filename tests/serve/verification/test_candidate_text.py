"""Candidates as the verifier's question describes them."""

import re

from tests.serve.conftest import code, technique
from xkg.model import Level
from xkg.serve.answers.types import SearchRow
from xkg.serve.verification.candidate_text import IN_FULL, Candidate, described
from xkg.store.graph_store import TechniqueView

PAPER = "title:bread"
WHOLE = technique(PAPER, "baking", "Baking", "Bake a loaf on a hot stone, from dough to crust.")
PART = technique(PAPER, "baking/steam", "Steaming", "Pour water on hot iron so that the crust stays soft.")
TWIN = technique(PAPER, "steam", "Steaming", "Pour water on hot iron, so that the crust stays soft!")
SOURCE = "def heat(stone):\n    return stone\n\n\ndef bake(dough):\n    return heat(dough)\n"


def view(of: object, *children: object, source: str = "") -> TechniqueView:
    fields = {"technique": of, "paper_title": "Bread", "path": ("Baking",), "children": children}
    owned = code(of, source, "", Level.PARSED) if source else None  # type: ignore[arg-type]
    return TechniqueView.model_validate({**fields, "code": owned})


def candidate(*views: TechniqueView) -> Candidate:
    own = views[0].technique
    row = {"id": own.id, "name": own.name, "paper_title": "", "score": 0.5, "level": "none", "code": None}
    return Candidate(SearchRow.model_validate({**row, "definition": ""}), views)


def test_a_relative_comes_with_its_components_and_the_names_in_its_code() -> None:
    for lead in range(IN_FULL + 1):  # in full, and in few words
        others = [candidate(view(technique(PAPER, f"t{n}", f"T{n}", ""))) for n in range(lead)]
        text = described([*others, candidate(view(PART), view(WHOLE, PART, source=SOURCE))], "bake")
        line = next(line for line in text.splitlines() if line.startswith(f"{lead + 1}a "))
        assert f"({lead + 1} is part of it; with code): Baking" in line
        assert line.endswith("| components: Steaming | code: def heat, def bake")


def test_what_an_earlier_definition_says_is_not_repeated() -> None:
    text = described([candidate(view(PART), view(TWIN)), candidate(view(WHOLE))], "keep the crust soft")
    assert len(re.findall("Pour water", text)) == 1
    assert "1a (1 has its name; no code): Steaming: as 1\n" in text
    assert "Bake a loaf" in text
