"""Tests which statements of a composed module belong to the composite itself."""

from xkg.build.slicing.compose import Part, compose
from xkg.sandbox.evidence.own_statements import component_calls, own_lines

CLIP = (
    "import math\n\nLIMIT = 3.0\n\n\ndef clip(x):\n    return min(x, _bound(x))\n\n\ndef _bound(x):\n    return LIMIT\n"
)
DAMP = """\
class Damp:
    def __init__(self, rate):
        self.rate = rate

    def step(self, x):
        return self.rate * x
"""
NEW = "def both(x):\n    y = clip(x)\n    return Damp(0.5).step(y) + _bound(y)\n\n\ndef _bound(x):\n    return -x\n"


def own_text(source: str, *components: str) -> str:
    own = own_lines(source, components)
    return "\n".join(line for i, line in enumerate(source.splitlines(), 1) if i in own and line.strip())


def test_what_components_have_is_not_own_whatever_composition_renames() -> None:
    whole = compose(NEW, [Part("Clip", CLIP), Part("Damp", DAMP)]).source
    assert "_bound__" in whole  # one of the two helpers was renamed
    own = own_text(whole, CLIP, DAMP)
    assert "def both" in own
    assert "return -x" in own
    assert "rate" not in own
    assert "LIMIT" not in own


def test_a_renamed_class_is_not_own_if_it_names_itself_in_an_annotation() -> None:
    one = 'class Node:\n    def link(self, other: "Node") -> "list[Node]":\n        return [self, other]\n'
    two = one.replace("[self, other]", "[other, self]") + "\n\ndef linked():\n    return Node().link(Node())\n"
    whole = compose("def both():\n    return linked(), Node()\n", [Part("One", one), Part("Two", two)]).source
    assert "Node__" in whole
    assert "def both" in own_text(whole, one, two)
    assert "link(self" not in own_text(whole, one, two)


def test_a_changed_component_counts() -> None:
    whole = compose(NEW, [Part("Clip", CLIP), Part("Damp", DAMP)]).source
    changed = whole.replace("self.rate * x", "self.rate + x")
    assert "self.rate + x" in own_text(changed, CLIP, DAMP)
    assert "__init__" not in own_text(changed, CLIP, DAMP)
    assert "3.5" in own_text(whole.replace("3.0", "3.5"), CLIP, DAMP)


def test_a_method_of_another_class_is_own() -> None:
    assert "return self.rate" in own_text(DAMP.replace("class Damp:", "class Lift:"), DAMP)
    assert "return self.rate" in own_text(DAMP.replace("class Damp:", "class Damp(Base):"), DAMP)


def test_only_what_does_nothing_but_call_a_component_is_a_call_of_it() -> None:
    component = "def solved(u, v):\n    return u / v\n\n\nclass Keeper:\n    pass\n\n\nLIMIT = 3\n"
    module = (
        "x = solved(a, b.c)\n"
        "x, y = solved(*a, v=1)\n"
        "k = Keeper()\n"
        "x = solved__part(a, b)\n"
        "x = solved(a + 1, b)\n"
        "x = 2 * solved(a, b)\n"
        "x = other(a)\n"
        "x = solved(other(a), b)\n"
        "x[i + 1] = solved(a, b)\n"
        "LIMIT(3)\n"
    )
    assert component_calls(module, [component]) == {1, 2, 3, 4}
    assert component_calls("def (", [component]) == component_calls(module, ["def ("]) == frozenset()


def test_a_method_of_what_a_component_s_class_gives_is_a_call_of_it() -> None:
    component = "class Search:\n    def run(self, n):\n        return n\n"
    module = "search = Search(3)\nbest = search.run(4)\nother = best.run(5)\n"
    assert component_calls(module, [component]) == {1, 2}
