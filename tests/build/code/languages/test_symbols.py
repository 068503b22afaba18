from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.code.codebase import Codebase, SourceSymbol
from xkg.build.code.languages.cython import as_python
from xkg.build.code.languages.grammars import SUFFIXES, grammars_of
from xkg.build.code.languages.python import analyse
from xkg.build.code.languages.r import outline_r
from xkg.build.code.languages.symbols import outline
from xkg.build.code.repository import parse_repository
from xkg.build.repositories.checkout import fetch_repository

LANGUAGES = Path(__file__).parents[3] / "data" / "languages"
FILES = sorted(str(p.relative_to(LANGUAGES)) for p in LANGUAGES.rglob("*.*") if p.suffix[1:].lower() in SUFFIXES)


@pytest.fixture(scope="module")
def codebase() -> Codebase:
    return parse_repository(fetch_repository(str(LANGUAGES), Path("unused")))


def symbols(codebase: Codebase, path: str) -> dict[str, SourceSymbol]:
    module = next(m for m in codebase.modules if m.path == path)
    return {s.symbol.id.rpartition(path)[2].removeprefix("::"): s for s in module.symbols}


def outlined(codebase: Codebase, path: str) -> dict[str, tuple[str, int, int]]:
    found = symbols(codebase, path)
    return {n: (s.symbol.kind, s.symbol.start_line, s.symbol.end_line) for n, s in found.items() if n}


def test_cuda(codebase: Codebase) -> None:
    assert outlined(codebase, "cuda/stein.cu") == {
        "stein.detail.squared_distance": ("function", 10, 17),
        "stein.detail.repulsion_kernel": ("function", 19, 25),
        "stein.unnamed_helper": ("function", 30, 30),
        "stein.median_bandwidth": ("function", 33, 35),
        "stein.Ensemble.step": ("method", 37, 41),
        "stein.Ensemble.release": ("method", 43, 43),
        "stein_create": ("function", 47, 49),
    }
    assert outlined(codebase, "cuda/stein.cuh") == {
        "BLOCK_SIZE": ("constant", 4, 4),
        "LAUNCH_GRID": ("function", 5, 5),
        "stein.Ensemble": ("class", 15, 30),
        "stein.Ensemble.Ensemble": ("method", 17, 17),
        "stein.Ensemble.~Ensemble": ("method", 18, 18),
        "stein.Ensemble.count": ("method", 23, 23),
        "stein.Ensemble.operator+=": ("method", 24, 24),
        "stein.Tile": ("class", 32, 40),
        "stein.Tile.sum": ("method", 35, 39),
    }
    source = symbols(codebase, "cuda/stein.cu")
    kernel = source["stein.detail.repulsion_kernel"].symbol
    assert kernel.signature == (
        "__global__ void repulsion_kernel(const float* x, float* out, int n, int width, float h)"
    )
    assert source["stein.detail.squared_distance"].docstring == "Squared distance of two particles."
    assert source["stein.detail.squared_distance"].comments == "one coordinate"
    assert source[""].docstring == ""  # a licence does not describe the file
    assert {m.language for m in codebase.modules if m.path.startswith("cuda/")} == {"cuda"}


def test_c(codebase: Codebase) -> None:
    assert outlined(codebase, "plainc/ring.c") == {
        "ring": ("class", 4, 7),
        "wrap": ("function", 9, 9),
        "ring_push": ("function", 11, 15),
        "ring_data": ("function", 17, 17),
    }
    assert outlined(codebase, "plainc/ring.h") == {"cursor_t": ("class", 7, 10)}


def test_julia(codebase: Codebase) -> None:
    assert outlined(codebase, "julia/Annealing.jl") == {
        "Annealing.Proposal": ("class", 10, 10),
        "Annealing.Walk": ("class", 13, 16),
        "Annealing.Walk.Walk": ("method", 15, 15),
        "Annealing.LOWEST": ("constant", 18, 18),
        "Annealing.anneal": ("function", 25, 30),
        "Annealing.propose": ("function", 33, 33),
        "Annealing.accept": ("function", 34, 34),
        "Annealing.Walk-2": ("function", 35, 35),
        "Annealing.Base.show": ("function", 36, 36),
        "Annealing.fast": ("function", 37, 39),
        "Annealing.repeated": ("function", 41, 43),
        "Annealing.Inner.halve": ("function", 46, 46),
    }
    source = symbols(codebase, "julia/Annealing.jl")
    assert source[""].docstring == "Annealed sampling on a temperature ladder."
    assert source["Annealing.Walk"].docstring == "A random walk with a fixed width."
    assert source["Annealing.anneal"].docstring.endswith("Moves `x` through the ladder.")
    assert source["Annealing.propose"].docstring == "A symmetric proposal."
    assert source["Annealing.anneal"].symbol.signature == (
        "function anneal(target, x::AbstractVector{T}; steps=10) where {T}"
    )


def test_rust(codebase: Codebase) -> None:
    assert outlined(codebase, "rust/src/lib.rs") == {
        "Head": ("class", 9, 12),
        "Attend": ("class", 14, 21),
        "Attend.best": ("method", 18, 20),
        "Head.new": ("method", 25, 28),
        "Head.scores": ("method", 32, 35),
        "Mask": ("class", 38, 41),
        "EPSILON": ("constant", 43, 43),
        "cache.build": ("function", 46, 48),
        "scaled": ("function", 51, 55),
    }
    source = symbols(codebase, "rust/src/lib.rs")
    assert source[""].docstring == "Attention without a matrix of all scores."
    assert source["Head"].docstring == "A head with its own projections."
    assert source["Head.new"].docstring == "A head of this width."
    assert source["Head.scores"].parent == source["Head"].symbol.id


def test_javascript_and_typescript(codebase: Codebase) -> None:
    assert outlined(codebase, "web/scatter.js") == {
        "Scatter": ("class", 8, 16),
        "Scatter.create": ("method", 10, 10),
        "Scatter.draw": ("method", 11, 14),
        "Scatter.place": ("method", 15, 15),
        "Scatter.zoom": ("method", 18, 20),
        "start": ("function", 24, 24),
        "tools.hull": ("function", 29, 29),
        "tools.area": ("function", 30, 30),
    }
    assert outlined(codebase, "web/layout.ts") == {
        "Point": ("class", 1, 1),
        "nearest": ("function", 4, 6),
        "force.repel": ("function", 9, 9),
        "Layout": ("class", 12, 15),
        "Layout.relax": ("method", 14, 14),
        "MAX_STEPS": ("constant", 17, 17),
    }
    assert outlined(codebase, "web/Panel.tsx") == {
        "Props": ("class", 5, 5),
        "Panel": ("function", 8, 11),
        "Badge": ("function", 13, 17),
    }
    assert symbols(codebase, "web/Panel.tsx")["Panel"].docstring == "Shows one cluster."


OTHERS = {
    "Sampler.java": "Sampler 6-26, Sampler.MAX_STEPS 7-7, Sampler.Sampler 9-11, Sampler.step 14-17, "
    "Sampler.gate 19-21, Sampler.Gate 23-25, Sampler.Gate.opens 24-24, Point 28-28",
    "Sampler.cs": "Ripple.Core.Sampler 6-21, Ripple.Core.Sampler.MAX_STEPS 9-9, Ripple.Core.Sampler.Sampler 11-11, "
    "Ripple.Core.Sampler.Steps 13-13, Ripple.Core.Sampler.Step 15-15, Ripple.Core.Sampler.Gate 17-20, "
    "Ripple.Core.Point 23-23",
    "sampler.go": "Sampler 6-8, Gate 10-12, Sampler.Step 15-17, Sampler.scale 19-19, gate 21-23",
    "sampler.php": "Sampler 7-17, Sampler.MAX_STEPS 9-9, Sampler.step 11-14, Sampler.gate 16-16, scale 19-22",
    "Sampler.m": "Sampler 1-14, Sampler.Sampler 6-8, Sampler.step 10-12",
    "gate.m": "gate 1-4, scale 6-8",
    "sampler.R": "draw.points 4-8, gate 10-11, Sampler 13-19, Sampler.step 15-18, show 21-23, weigh 27-29",
    "sampler.pyx": "gate 6-9, draw 11-13, Sampler 15-22, Sampler.__init__ 18-19, Sampler.step 21-22",
}


@pytest.mark.parametrize("name", OTHERS)
def test_languages_of_places_alone(codebase: Codebase, name: str) -> None:
    found = outlined(codebase, f"others/{name}").items()
    assert ", ".join(f"{each} {first}-{last}" for each, (_, first, last) in found) == OTHERS[name]


def test_words_of_places_alone(codebase: Codebase) -> None:
    assert symbols(codebase, "others/Sampler.java")["Sampler.step"].docstring == "One step."
    assert symbols(codebase, "others/sampler.go")["Sampler.Step"].docstring == "Step is one step."
    assert symbols(codebase, "others/Sampler.m")["Sampler.step"].docstring == "One step."
    assert symbols(codebase, "others/sampler.R")["draw.points"].docstring == "Draws points."
    drawn = symbols(codebase, "others/sampler.pyx")["gate"]
    assert drawn.symbol.signature.startswith("cdef inline double gate(double x")
    assert {m.language for m in codebase.modules if m.path.startswith("others/")} == {
        "java", "csharp", "go", "php", "matlab", "r", "cython",
    }  # fmt: skip


@given(st.text(st.sampled_from("(){}[]<-=:#\"'` \nabf,r%cdef "), max_size=200))
def test_any_text_is_read_as_r_and_as_cython(text: str) -> None:
    for path, module in (("a.R", outline_r("a.R", text)), ("a.pyx", analyse("a.pyx", text).module)):
        lines = text.count("\n") + 1
        assert all(1 <= s.symbol.start_line <= s.symbol.end_line <= lines for s in module.symbols), path


@pytest.mark.parametrize(
    "piece", ["(", "f <- function(x) ", 'r"(', "R6Class(", "cdef a(", "cdef a[", "def f(int a, ", "<a"]
)
def test_r_and_cython_are_read_in_linear_time(piece: str) -> None:
    outline_r("a.R", piece * 2_000)
    assert len(as_python((piece * 2_000).encode())) == len(piece) * 2_000


def test_broken_files_give_what_can_be_read(codebase: Codebase) -> None:
    assert {m.path for m in codebase.modules if m.broken} == {"broken.cpp"}
    found = outlined(codebase, "broken.cpp")
    assert {"whole", "kept", "after"} <= {name.rpartition(".")[2] for name in found}


def test_types_in_javascript_are_read(codebase: Codebase) -> None:
    assert outlined(codebase, "flow.js") == {"typed": ("function", 2, 2)}


def check_lines(path: str, text: str) -> None:
    for grammar in grammars_of(path.rpartition(".")[2], text):
        module = outline(path, text, (grammar,), "R")
        assert module.symbols[0].symbol.kind == "module"
        identities = [s.symbol.id for s in module.symbols]
        assert len(set(identities)) == len(identities)
        count = len(text.split("\n"))
        around: list[tuple[int, int]] = []
        for source in module.symbols:
            start, end = source.symbol.start_line, source.symbol.end_line
            assert 1 <= start <= end <= count
            assert source.parent in (None, *identities)
            while around and around[-1][1] <= start and (start, end) != around[-1]:
                around.pop()
            if around and source.symbol.qualified_name:
                assert end <= around[-1][1] or start == around[-1][1]
            around.append((start, end))


@given(path=st.sampled_from(FILES), data=st.data())
def test_lines_lie_in_the_file_and_nest_whatever_is_cut_out(path: str, data: st.DataObject) -> None:
    text = (LANGUAGES / path).read_text()
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 80))
    put = data.draw(st.sampled_from(["", "{", "}", "(", "*/", "/*", '"', "é", "\0", "\n\n", "template <"]))
    check_lines(path, text[:at] + put + text[at + length :])


@pytest.mark.product("each language × each nesting", "piece")
@pytest.mark.parametrize("ending", ["c", "cpp", "cu", "js", "tsx", "jl", "rs", "java", "cs", "go", "php", "m"])
@pytest.mark.parametrize("piece", ["(", "{", "a::", "a.", "f(", "/*", "struct a {", "namespace a {", "x => "])
def test_deep_nesting_ends_in_time(ending: str, piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.build.code.languages.syntax_nodes.SECONDS", 0.1)
    check_lines(f"deep.{ending}", piece * 1000)


def test_a_file_that_cannot_be_read_in_time_is_broken_and_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.build.code.languages.syntax_nodes.SECONDS", 0.0)
    text = "int f(void) { return 0; }\n" * 10_000
    module = outline("slow.c", text, grammars_of("c", text), "R")
    assert module.broken
    assert [(s.symbol.kind, s.symbol.end_line) for s in module.symbols] == [("module", 10_000)]


def test_many_comments_on_one_line_belong_to_what_is_around_them() -> None:
    text = "  /* a */ " + "/* b */" * 3 + " int f(void);\n\nint g(void) { return 0; } " + "/* c */" * 3 + "\n"
    found = outline("a.c", text, grammars_of("c", text))
    assert found.symbols[0].docstring == "a"
    assert found.symbols[0].comments == "b\nb\nb\nc\nc\nc"


def test_scopes_too_deep_and_names_too_long_are_part_of_what_is_around_them() -> None:
    deep = "".join(f"namespace n{i} {{ " for i in range(2_000)) + "class A { void f() {} };" + "}" * 2_000
    long = "namespace " + "n" * 500 + " { " + "".join(f"class A{i} {{ " for i in range(2_000)) + "};" * 2_000 + "}"
    for text in (deep, long):
        names = [s.symbol.qualified_name for s in outline("a.cpp", text, grammars_of("cpp", text)).symbols]
        assert max(map(len, names)) <= 1_000
        assert sum(map(len, names)) < 30_000
