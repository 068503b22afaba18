"""Names are resolved once a file, however many symbols bear them or refer to them."""

import pytest

from xkg.build.code import call_graph
from xkg.build.code.call_graph import link
from xkg.build.code.codebase import SourceSymbol
from xkg.build.code.languages.grammars import grammars_of
from xkg.build.code.languages.symbols import outline


def calls(path: str, text: str) -> dict[str, tuple[str, ...]]:
    module = link({path: outline(path, text, grammars_of(path.rpartition(".")[2], text))})[path]
    return {s.symbol.id: s.calls for s in module.symbols}


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("function a() { a(); b(); }\n" * 400 + "function b() {}\n", ":a.js::b"),
        (
            "".join(f"class A{i} {{ f() {{ b(); x.f(); g.f(); }} }}\n" for i in range(400)) + "function b() {}",
            ":a.js::b",
        ),
    ],
)
def test_a_name_of_many_symbols_is_looked_for_once(text: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, tiers = 0, call_graph._Family._tiers

    def counted(self: call_graph._Family, path: str, candidates: list[SourceSymbol]) -> list[list[SourceSymbol]]:
        nonlocal looked
        looked += len(candidates)
        return tiers(self, path, candidates)

    monkeypatch.setattr(call_graph._Family, "_tiers", counted)
    found = calls("a.js", text)
    assert sum(call in each for each in found.values()) >= 400
    assert looked < 20 * 400


def test_a_path_of_many_parts_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    joined, join = 0, call_graph.posixpath.join

    def counted(*parts: str) -> str:
        nonlocal joined
        joined += sum(map(len, parts))
        return join(*parts)

    monkeypatch.setattr(call_graph.posixpath, "join", counted)
    calls("a.rs", "use " + "a::" * 1_000 + "b;\n")
    assert joined < 100_000
