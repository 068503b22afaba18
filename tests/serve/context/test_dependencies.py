from tests.serve.conftest import code, technique
from xkg.model import Code, Level, Technique
from xkg.serve.context.parts import uses

PAPER = "title:p"


def paper(**written: str) -> tuple[list[Technique], dict[str, Code]]:
    """Returns a paper with techniques keyed by path, with `__` in place of the slash. Each value lists the names that
    the technique's code defines."""
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
