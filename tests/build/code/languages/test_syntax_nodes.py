import gc
import tracemalloc

import pytest

from xkg.build.code.languages import syntax_nodes
from xkg.build.code.languages.grammars import SUFFIXES, grammars_of, load
from xkg.build.code.languages.python import identifier_paths
from xkg.build.code.languages.syntax_nodes import node_text, syntax_root


def left_behind(ending: str, source: bytes) -> int:
    """Returns the memory that syntax_nodes.py still uses after parsing a source and discarding its tree, in bytes."""
    grammar = grammars_of(ending, "")[0]
    language, _ = load(grammar)
    syntax_root(language, b"a")
    tracemalloc.start()
    try:
        syntax_root(language, source)
        gc.collect()
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, syntax_nodes.__file__)])
        return sum(trace.size for trace in ours.traces)
    finally:
        tracemalloc.stop()


ONE_OF_EACH = {grammars_of(ending, "")[0].module: ending for ending in sorted(SUFFIXES)}.values()


@pytest.mark.product("each grammar × each text", "piece")
@pytest.mark.parametrize("ending", ONE_OF_EACH)
@pytest.mark.parametrize("piece", ["}", "int f();", "f(x) = x\n"])
def test_no_text_stays_in_memory(ending: str, piece: str) -> None:
    assert left_behind(ending, piece.encode() * 1_000) < 2_000


def test_no_text_stays_in_memory_where_the_parser_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.build.code.languages.syntax_nodes.SECONDS", 0.0)
    assert left_behind("c", b"int f(void) { return 0; }\n" * 10_000) < 4_000


def test_text_of_nodes_beyond_the_first_chunk() -> None:
    source = ("é = 1\n" * 20_000 + "last = 'ö'\n").encode()
    grammar = grammars_of("jl", "")[0]
    root = syntax_root(load(grammar)[0], source)
    assert root is not None
    assert not root.has_error
    last = root.named_child(root.named_child_count - 1)
    assert last is not None
    assert node_text(last, source) == "last = 'ö'"


def test_names_in_an_f_string() -> None:
    text = "f'é{a.b.c} {d[e.f]} {" + ".".join("n" * 300) + "}'"
    assert [path[:3] for _, _, path in identifier_paths(text.encode())] == [
        ("a", "b", "c"),
        ("d",),
        ("e", "f"),
        ("n", "n", "n"),
    ]


def test_an_f_string_that_cannot_be_read_in_time_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.build.code.languages.syntax_nodes.SECONDS", 0.0)
    assert identifier_paths(("f'" + "{a}" * 10_000 + "'").encode()) == []
