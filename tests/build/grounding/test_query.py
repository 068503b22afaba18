import pytest

from xkg.build.grounding.query import technique_queries
from xkg.model import Technique


@pytest.mark.parametrize("name", ["EggNet update rule", "Update rule in EggNet"])
def test_a_part_is_sought_by_its_heading_without_the_method_s_name(name: str) -> None:
    method = Technique(id="title:egg#eggnet", name="EggNet", definition="EggNet sorts eggs.")
    part = Technique(
        id="title:egg#eggnet/rule",
        name=name,
        aliases=("Update rule",),
        definition="It moves.",
        parent=method.id,
        depth=1,
    )
    found = technique_queries([method, part], None)[1]
    assert (found.forms, found.text) == ((("updat", "rule"),), "Update rule. It moves.")


def test_other_aliases_add_their_words() -> None:
    technique = Technique(id="title:egg#pool", name="Nest pooling", aliases=("Egg pooling",), definition="It pools.")
    assert technique_queries([technique], None)[0].text == "Nest pooling. It pools."
