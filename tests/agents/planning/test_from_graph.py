from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.planning.from_graph import PLAINEST, groupings, propose
from xkg.agents.planning.material import Alternative, Component, Material
from xkg.serve.answers.types import NamedText

OTHER = Alternative(id="p2#oil", name="Oil Smoke", paper_title="Calm Hives", score=0.95)


def component(name: str, parent: str | None = "top", **fields: object) -> Component:
    known = {
        "definition": "",
        "parent_name": "Baking",
        "depth": 1,
        "level": "none",
        "siblings": 2,
        "parts": 0,
        "mentioned": 0.0,
        "findings": (),
        "users": (),
        "place": 0.0,
        "alternatives": (),
        **fields,
    }
    return Component.model_validate({"id": name, "name": name, "parent": parent, **known})


def material(*components: Component, findings: tuple[NamedText, ...] = ()) -> Material:
    return Material(paper="p", title="Bread", abstract="", findings=findings, components=components, left_out=0)


def test_what_can_go_is_removed_and_what_carries_others_is_replaced() -> None:
    plan = propose(
        material(
            component("leaf"),
            component("frame", parts=2, mentioned=1.0),
            component("used", users=("leaf",)),
            component("alone", siblings=0),
            component("known", alternatives=(OTHER,)),
            component("alike", alternatives=(OTHER.model_copy(update={"score": 0.8}),)),
        ),
        6,
    )
    assert {a.component: a.ideas for a in plan if a.ideas} == {"known": ("Oil Smoke (Calm Hives)",)}
    found = {a.component: (a.action, a.replacement) for a in plan}
    assert found == {
        "leaf": ("REMOVE", ()),
        "frame": ("REPLACE", (PLAINEST,)),
        "used": ("REPLACE", (PLAINEST,)),
        "alone": ("REPLACE", (PLAINEST,)),
        "alike": ("REMOVE", ()),
        "known": ("REPLACE", (PLAINEST,)),
    }
    assert all(a.why for a in plan)


def test_a_taxonomy_is_no_part_of_the_method() -> None:
    """The paper has a separate section on kinds of ovens, which no part of the method depends on."""
    taxonomy = (
        component("kinds of ovens", parts=2, mentioned=0.25),
        component("wood ovens", parent="kinds of ovens", depth=2, mentioned=0.4),
        component("gas ovens", parent="kinds of ovens", depth=2, mentioned=0.5),
    )
    shaping = (component("shaping", parts=2), component("fold", parent="shaping", depth=2))
    rest = component("steam", definition="Steam comes after the last fold of the dough.")
    plan = propose(material(*taxonomy, *shaping, rest), 9)
    assert {a.component for a in plan} == {"shaping", "fold", "steam"}
    of_use = component("gas ovens", parent="kinds of ovens", depth=2, level="tested")
    plan = propose(material(*taxonomy[:2], of_use, rest), 9)
    assert {a.component for a in plan} == {"kinds of ovens", "wood ovens", "gas ovens", "steam"}


def test_what_the_abstract_and_the_findings_name_comes_first() -> None:
    finding = NamedText(name="Steam helps", description=None)
    plan = propose(
        material(
            component("background"),
            component("claimed", mentioned=1.0),
            component("steam", mentioned=1.0, findings=("Steam helps",)),
            findings=(finding,),
        ),
        3,
    )
    assert [a.component for a in plan] == ["steam", "claimed", "background"]
    assert all(not a.metrics for a in plan)


def test_a_component_inside_a_chosen_one_waits_for_the_others() -> None:
    plan = propose(
        material(
            component("outer", mentioned=1.0, place=1.0),
            component("inner", parent="outer", depth=2, mentioned=0.9, place=0.9),
            component("plain"),
        ),
        3,
    )
    assert [a.component for a in plan] == ["outer", "plain", "inner"]


def test_a_qualified_name_of_a_chosen_component_waits_for_the_others() -> None:
    names = ("test-time CrumbShifting Baking", "Crumb-Shifting Baking", "Slow Baking", "Baking")
    plan = propose(material(*(component(name) for name in names)), 4)
    assert [a.component for a in plan] == [names[0], names[2], names[3], names[1]]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(1, 4), st.booleans()), min_size=1, max_size=12),
    st.integers(1, 20),
)
def test_a_plan_names_components_once_and_no_more_than_asked(
    facts: list[tuple[float, float, int, bool]], k: int
) -> None:
    components = [
        component(f"c{n}", mentioned=mentioned, place=place, depth=depth, parts=int(frame))
        for n, (mentioned, place, depth, frame) in enumerate(facts)
    ]
    plan = propose(material(*components), k)
    assert len(plan) == min(k, len(components) - len(groupings(components)))
    assert plan
    assert len({a.component for a in plan}) == len(plan)
    assert all(bool(a.replacement) == (a.action != "REMOVE") for a in plan)
    longer = propose(material(*components), k + 1)
    assert longer[: len(plan)] == plan


def test_what_only_judges_the_result_comes_last() -> None:
    """A measured error comes earlier if the method's own code uses it, because it may steer the method."""
    judged = "To judge the bread we weigh a slice, which needs no oven."
    plan = propose(
        material(
            component("scale", definition=judged, place=0.9, mentioned=1.0),
            component("leaven", definition="It rises to a height that is judged by the eye."),
            component("thermometer", definition="To monitor the oven we read its heat.", users=("leaven",)),
        ),
        3,
    )
    assert [a.component for a in plan][-1] == "scale"
    assert "evaluates the method's results" in plan[-1].why
    assert "judges" not in " ".join(a.why for a in plan[:-1])
