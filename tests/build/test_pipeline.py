import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from xkg.build.context import BuildContext, Built
from xkg.build.parsing.parsers import Parsers
from xkg.build.pipeline import build_paper
from xkg.build.stage_cache import Event, StageReport, levels
from xkg.config import PruneSettings, Settings
from xkg.embeddings.base import Embedder
from xkg.embeddings.cache import CachedEmbedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError
from xkg.model import Code, Level, PaperBundle
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.fork_server import WarmRunner
from xkg.sandbox.runner import Environment, Runner

EXAMPLE = Path(__file__).parents[2] / "examples/svgd"
PAPER = EXAMPLE / "paper/svgd.tex"
CODE = str(EXAMPLE / "code")
STAGES = ["parse", "fetch", "symbols", "extract", "ground", "modularize", "environment", "check", "prune"]


class Lent:
    """Provides environments with the packages of the tests' own interpreter, so nothing is downloaded."""

    def __init__(self, missing: Sequence[str] = (), *, incomplete: bool = False) -> None:
        self.missing = missing
        self.incomplete = incomplete
        self.requests: list[tuple[Sequence[str], Sequence[str], str | None]] = []

    def make(
        self,
        imports: Sequence[str] | Mapping[str, Sequence[str]],
        requirements: Sequence[str] = (),
        written: str | None = None,
        declared: Sequence[str] = (),  # noqa: ARG002
    ) -> Environment:
        self.requests.append((imports, requirements, written))
        missing = dict.fromkeys(self.missing, "no wheel for this Python")
        return Environment(site=Path(np.__file__).parents[1], hash="lent", missing=missing, incomplete=self.incomplete)

    def again(self, digest: str) -> Environment | None:
        raise AssertionError(f"a build asks for no earlier set, but for {digest}")


Build = Callable[..., Built]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    with CachedEmbedder(OnnxEmbedder, tmp_path_factory.mktemp("cache") / "embeddings.sqlite") as cached:
        yield cached


@pytest.fixture(scope="module")
def contained() -> Iterator[Runner]:
    with WarmRunner(BubblewrapRunner(), lambda _: ("numpy",)) as runner:
        yield runner


@pytest.fixture(scope="module")
def built_once(embedder: Embedder, parsers: Parsers, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    kg = tmp_path_factory.mktemp("kg")
    context = BuildContext(Settings(kg=kg), embedder, BubblewrapRunner(), Lent(), parsers=parsers)
    return kg, build_paper(PAPER, CODE, context)


@pytest.fixture
def build(tmp_path: Path, embedder: Embedder, parsers: Parsers, contained: Runner) -> Build:
    """Builds in a separate folder. By default, builds the example."""

    def run(
        paper: Path = PAPER,
        repository: str | None = CODE,
        *,
        runner: Runner | None = contained,
        environments: Lent | None = None,
        notify: Callable[[Event], None] = lambda _: None,
        prune: PruneSettings = PruneSettings(),  # noqa: B008
        kg: Path = tmp_path / "kg",
    ) -> Built:
        settings = Settings(kg=kg, prune=prune)
        made = environments or Lent()
        context = BuildContext(settings, embedder, runner, made, notify, parsers=parsers)
        return build_paper(paper, repository, context)

    return run


def reused(built: Built) -> dict[str, bool]:
    return {report.name: report.reused for report in built.stages}


def code_levels(bundle: PaperBundle) -> set[Level]:
    return {code.level for code in bundle.code}


def test_the_example_from_its_paper_to_imported_code(built_once: tuple[Path, Built]) -> None:
    built = built_once[1]
    bundle = built.bundle
    assert [report.name for report in built.stages] == STAGES
    assert built.notes == ()
    assert bundle.paper.title == "A Short Account of Stein Variational Gradient Descent"
    assert bundle.paper.state == "complete"
    visible = [t for t in bundle.techniques if t.hidden is None]
    assert len(visible) >= 3
    assert code_levels(bundle) == {Level.IMPORTED}
    symbols = {symbol.id: symbol for symbol in bundle.symbols}
    assert all(location.symbol in symbols for location in bundle.locations)
    assert {t.id for t in bundle.techniques if t.grounding != "none"} == {x.technique for x in bundle.locations}
    assert {d.code for d in bundle.derivations} == {c.id for c in bundle.code}
    assert any("kernel" in t.name.lower() for t in visible)
    for code in bundle.code:
        (evidence,) = code.evidence
        assert (evidence.runner, evidence.environment, evidence.exit_code) == ("bubblewrap", "lent", 0)
        lines = code.implementation.splitlines()
        assert "def " in code.implementation
        for derivation in (d for d in bundle.derivations if d.code == code.id):
            assert any(symbols[derivation.symbol].path in line for line in lines)  # each part says where it came from


def test_an_unchanged_rerun_repeats_nothing_and_is_equal(built_once: tuple[Path, Built], build: Build) -> None:
    kg, first = built_once
    environments = Lent()
    again = build(kg=kg, environments=environments)
    assert again.bundle == first.bundle
    assert [name for name, is_reused in reused(again).items() if not is_reused] == ["parse", "fetch"]
    assert environments.requests == []


def test_the_same_input_elsewhere_is_the_same(built_once: tuple[Path, Built], build: Build, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "moved/svgd")
    moved = build(tmp_path / "moved/svgd/paper/svgd.tex", str(tmp_path / "moved/svgd/code"), runner=None)

    def timeless(bundle: PaperBundle) -> PaperBundle:
        code = tuple(c.model_copy(update={"evidence": (), "level": Level.NONE}) for c in bundle.code)
        paper = bundle.paper.model_copy(update={"built_at": None})
        return bundle.model_copy(update={"paper": paper, "code": code})

    assert timeless(moved.bundle) == timeless(built_once[1].bundle)


@pytest.mark.product("each stage × a kill")
@pytest.mark.parametrize("killed_after", ["symbols", "extract", "ground", "modularize", "environment", "check"])
def test_a_build_that_is_killed_goes_on_where_it_stopped(
    built_once: tuple[Path, Built], build: Build, tmp_path: Path, killed_after: str
) -> None:
    class Killed(BaseException):
        pass

    def kill(report: Event) -> None:
        if isinstance(report, StageReport) and report.name == killed_after:
            raise Killed

    # An earlier build has already completed the earlier stages.
    shutil.copytree(built_once[0], tmp_path / "kg")
    for stage in STAGES[STAGES.index(killed_after) :]:
        for output in (tmp_path / "kg").glob(f"work/*/{stage}-*.json"):
            output.unlink()
    with pytest.raises(Killed):
        build(notify=kill, runner=None)
    rerun = build(runner=None)
    finished = [name for name in STAGES[2 : STAGES.index(killed_after) + 1] if name != "environment"]
    assert all(reused(rerun)[name] for name in finished)
    assert rerun.bundle.techniques == built_once[1].bundle.techniques
    assert [c.id for c in rerun.bundle.code] == [c.id for c in built_once[1].bundle.code]


def test_only_a_changed_repository_is_read_anew(built_once: tuple[Path, Built], build: Build, tmp_path: Path) -> None:
    shutil.copytree(built_once[0], tmp_path / "kg")
    shutil.copytree(CODE, tmp_path / "code")
    kernels = tmp_path / "code/svgd/kernels.py"
    kernels.write_text(kernels.read_text() + "\n\ndef added():\n    return 1\n")
    texts = {"COPYING": "MIT License\n\nCopyright A", "NOTICE.txt": "By B", "svgd/LICENSE": "Boost by C"}
    for path, text in (texts | {"data/LICENSE": "of no source file"}).items():
        (tmp_path / "code" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "code" / path).write_text(text)
    rerun = build(repository=str(tmp_path / "code"))
    assert rerun.bundle.repositories[0].license_texts == texts
    assert [name for name, is_reused in reused(rerun).items() if is_reused] == ["extract"]
    assert any(s.qualified_name == "added" for s in rerun.bundle.symbols)


def test_another_required_level_only_prunes_again(built_once: tuple[Path, Built], build: Build, tmp_path: Path) -> None:
    shutil.copytree(built_once[0], tmp_path / "kg")
    strict = build(prune=PruneSettings(min_level=Level.EXECUTED))
    assert [name for name, is_reused in reused(strict).items() if not is_reused] == ["parse", "fetch", "prune"]
    assert all(t.hidden for t in strict.bundle.techniques)
    assert strict.bundle.code == built_once[1].bundle.code


def test_without_a_sandbox_levels_stop_at_parsed_and_a_note_says_so(build: Build) -> None:
    built = build(runner=None)
    assert code_levels(built.bundle) == {Level.PARSED}
    assert any("no sandbox on this machine" in note for note in built.notes)
    assert any(t.hidden is None for t in built.bundle.techniques)
    assert build(runner=None).bundle == built.bundle
    contained = build()
    assert code_levels(contained.bundle) == {Level.IMPORTED}
    assert not any("no sandbox" in note for note in contained.notes)


def test_without_a_repository_techniques_are_visible_without_code(build: Build) -> None:
    built = build(repository=None)
    assert [report.name for report in built.stages] == ["parse", "extract", "prune"]
    assert built.bundle.techniques
    assert all(t.hidden is None for t in built.bundle.techniques)
    assert (built.bundle.code, built.bundle.repositories) == ((), ())
    assert built.notes == ("no repository was given (--repo), so techniques have no code",)


def test_an_unavailable_package_hides_nothing_and_is_reported_with_its_effect(build: Build) -> None:
    built = build(environments=Lent(missing=["numpy", "extra"]))
    held_back = [code for code in built.bundle.code if "import numpy" in code.implementation]
    assert {code.level for code in held_back} == {Level.PARSED}
    assert all(t.hidden is None for t in built.bundle.techniques)
    cost = f"{len(held_back)} code nodes stay at 'parsed' without it"
    assert f"package numpy not available: no wheel for this Python; {cost}" in built.notes
    assert "package extra not available: no wheel for this Python; no code node imports it" in built.notes


def test_what_met_a_registry_that_was_down_is_tried_again(build: Build) -> None:
    build(environments=Lent(missing=["numpy"], incomplete=True))
    rerun = build()
    assert (reused(rerun)["modularize"], reused(rerun)["check"]) == (True, False)
    assert code_levels(rerun.bundle) == {Level.IMPORTED}


def test_packages_are_requested_with_the_repository_s_versions(build: Build) -> None:
    environments = Lent()
    build(environments=environments, runner=None)
    ((imports, requirements, _),) = environments.requests
    assert list(imports) == ["numpy"]
    assert any(line.startswith("numpy") for line in requirements)


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        ("note.md", "# A note\n\nNothing but this line.\n", "check that its sections are marked as headings"),
        (
            "note.html",
            "<!doctype html><h1>A note</h1><h2>Introduction</h2><p>Rivers.</p><h2>Conclusion</h2><p>None.</p>",
            r"use the paper's LaTeX source or a Markdown version, or let a model read the paper \(--llm\)",
        ),
    ],
)
def test_a_paper_without_techniques_is_refused(build: Build, tmp_path: Path, name: str, text: str, remedy: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rf"no technique was found in .*; {remedy}$"):
        build(tmp_path / name, None)


def test_a_paper_without_a_title_needs_an_id(build: Build, tmp_path: Path) -> None:
    paper = tmp_path / "paper.md"
    paper.write_text("## 1 Introduction\n\nRivers ripple.\n\n## 2 Ripple Gate\n\nThe gate is a module.\n")
    with pytest.raises(InputError, match=r"paper\.md: no title found; pass --id"):
        build(paper, None)


@pytest.mark.parametrize("title", ["Supplementary Material", "Online Appendix", "SUPPORTING INFORMATION"])
def test_a_supplement_without_a_title_of_its_own_needs_an_id(build: Build, tmp_path: Path, title: str) -> None:
    paper = tmp_path / "supp.md"
    paper.write_text(f"# {title}\n\n## 1 Method\n\n### 1.1 Ripple Gate\n\nThe ripple gate is a module.\n")
    with pytest.raises(InputError, match=r"supp\.md: .* is not a paper title; pass --id"):
        build(paper, None)


def test_levels_are_counted_highest_first() -> None:
    nodes = [Code(id=str(n), technique="t", implementation="", level=level) for n, level in enumerate(Level)]
    assert levels([*nodes[:3], nodes[1]]) == "1 parsed, 2 claimed, 1 none"
    assert levels([]) == "no code nodes"
