from hypothesis import given
from hypothesis import strategies as st

from tests.serve.conftest import code, technique
from xkg.model import Code, Level, Technique
from xkg.serve.context.parts import build_order, uses

PAPER = "title:p"


def paper(**written: str) -> tuple[list[Technique], dict[str, Code]]:
    """Techniques by path, with `__` for the slash, and what their code defines, a word each."""
    techniques = [technique(PAPER, path.replace("__", "/"), path, "") for path in written]
    nodes = {}
    for each, names in zip(techniques, written.values(), strict=True):
        text = "".join(f"def {name}():\n    def inner(): ...\n" for name in names.split())
        nodes[each.id] = code(each, text, "", Level.PARSED)
    return techniques, {t: c for t, c in nodes.items() if c.implementation}


def short(found: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {t.partition("#")[2]: [o.partition("#")[2] for o in others] for t, others in found.items()}


def test_code_that_holds_all_of_another_uses_it_and_not_what_that_uses() -> None:
    found = uses(*paper(a="x y z", a__b="y", c="x y", d="y", e="", f="y q"))
    assert short(found) == {"a": ["a/b", "c"], "a/b": [], "c": ["a/b", "d"], "d": [], "e": [], "f": ["a/b", "d"]}


names = st.lists(st.sampled_from("xyz"), unique=True).map(" ".join)


@given(st.dictionaries(st.sampled_from(["a", "a__b", "a__b__c", "a__d", "e", "e__f", "g"]), names))
def test_everything_comes_once_and_after_what_it_uses(written: dict[str, str]) -> None:
    techniques, nodes = paper(**dict(sorted(written.items())))
    found = uses(techniques, nodes)
    order = build_order(found)
    assert sorted(order) == sorted(found)
    for each in techniques:
        others = found[each.id]
        assert each.id not in others
        assert len(set(others)) == len(others)
        assert not any(each.id.startswith(f"{other}/") for other in others)
        if each.parent in found:
            assert order.index(each.id) < order.index(each.parent) or _goes_round(found, each.id)


def _goes_round(found: dict[str, tuple[str, ...]], start: str) -> bool:
    reached, rest = set(), list(found[start])
    while rest:
        if (technique := rest.pop()) not in reached:
            reached.add(technique)
            rest += found[technique]
    return start in reached
