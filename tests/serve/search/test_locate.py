"""Finds lines to edit or ablate. The lines come from the graph. In a working copy, the lines are matched to the current
code or found by a search."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.command import run
from tests.serve.conftest import opened, published
from xkg.build.code.repository import parse_repository
from xkg.build.repositories.checkout import fetch_repository
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import InputError, StoreError, UnknownIdError
from xkg.model import Location, Paper, PaperBundle, Symbol, Technique
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service

EXAMPLE = Path(__file__).parents[3] / "examples" / "svgd" / "code"
PAPER = "title:moving-particles"
DIRECTION = f"{PAPER}#method/direction"


def bundle() -> PaperBundle:
    codebase = parse_repository(fetch_repository(str(EXAMPLE), Path("unused")))
    symbols = tuple(source.symbol for source in codebase.symbols().values())
    by_name = {s.qualified_name or s.path: s.id for s in symbols}

    def technique(path: str, name: str, definition: str, *aliases: str) -> Technique:
        parent = f"{PAPER}#{path.rpartition('/')[0]}" if "/" in path else None
        return Technique(
            id=f"{PAPER}#{path}",
            name=name,
            parent=parent,
            definition=definition,
            aliases=aliases,
            depth=path.count("/"),
        )

    def places(path: str, *found: tuple[str, float]) -> list[Location]:
        return [
            Location(technique=f"{PAPER}#{path}", symbol=by_name[name], score=score, rank=rank)
            for rank, (name, score) in enumerate(found, start=1)
        ]

    return PaperBundle(
        paper=Paper(id=PAPER, title="Moving Particles", origin="build"),
        techniques=(
            technique("method", "Particle Flow", "Particles flow to the target along a velocity field."),
            technique(
                "method/direction", "Steepest Direction", "Velocity: a driving and a repulsive force.", "SD"
            ),
            technique("method/bandwidth", "Median Heuristic", "The kernel's bandwidth is set by the median distance."),
            technique("logistic", "Bayesian Logistic Regression", "A posterior over the weights of a classifier."),
        ),
        repositories=(codebase.repository.model_copy(update={"url": "https://host/o/flow", "commit": "c" * 40}),),
        symbols=symbols,
        locations=(
            *places(
                "method/direction", ("stein_direction", 0.8), ("repulsive_force", 0.6), ("svgd/stein.py", 0.5)
            ),
            *places("method/bandwidth", ("median_bandwidth", 0.7)),
        ),
    )  # fmt: skip


def symbol(name: str) -> Symbol:
    return next(s for s in bundle().symbols if s.qualified_name == name)


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory, embedder: OnnxEmbedder) -> Path:
    return published(tmp_path_factory.mktemp("locate"), embedder, bundle())


@pytest.fixture(scope="module")
def service(kg: Path) -> Iterator[Service]:
    with opened(kg) as service:
        yield service


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "copy"))


def push_down(file: Path, lines: int = 3) -> None:
    file.write_text("# pushed down\n" * lines + file.read_text())


@pytest.mark.parametrize("asked", [DIRECTION, "Steepest Direction", "steepest  direction", "SD"])
def test_stored_places_of_a_technique_by_id_name_and_alias(service: Service, asked: str) -> None:
    places = service.locate(asked).locations
    assert [(p.path, p.symbol, p.score, p.source) for p in places] == [
        ("svgd/stein.py", "stein_direction", 0.8, "stored"),
        ("svgd/stein.py", "repulsive_force", 0.6, "stored"),
    ]
    old = symbol("stein_direction")
    assert (places[0].start_line, places[0].end_line) == (old.start_line, old.end_line)
    assert (places[0].repository, places[0].commit) == ("https://host/o/flow", "c" * 40)
    assert places[0].technique == DIRECTION


def test_a_copy_that_moved_on(service: Service, copy: Path) -> None:
    push_down(copy / "svgd" / "stein.py")
    places = service.locate(DIRECTION, copy).locations
    assert [(p.symbol, p.source, p.score) for p in places] == [
        ("stein_direction", "moved", 0.8),
        ("repulsive_force", "moved", 0.6),
    ]
    assert places[0].start_line == symbol("stein_direction").start_line + 3
    lines = (copy / places[0].path).read_text().splitlines()[places[0].start_line - 1 : places[0].end_line]
    assert lines[0].startswith("def stein_direction(")
    assert lines[-1].startswith("    return driving")
    (copy / "svgd" / "stein.py").rename(copy / "svgd" / "flow.py")
    assert {p.path for p in service.locate(DIRECTION, copy).locations} == {"svgd/flow.py"}


def test_where_all_is_gone_the_copy_is_searched(service: Service, copy: Path) -> None:
    file = copy / "svgd" / "kernels.py"
    text = file.read_text()
    start, end = text.index("def median_bandwidth"), text.index("def rbf_kernel")
    file.write_text(text[:start] + text[end:])
    (copy / "svgd" / "widths.py").write_text(
        '"""Widths of kernels."""\n\n\ndef kernel_width(points):\n'
        '    """Sets the bandwidth of the kernel by the median heuristic: half of the median distance."""\n'
        "    gaps = sorted(abs(a - b) for a in points for b in points)\n    return 0.5 * gaps[len(gaps) // 2]\n"
    )
    answer = service.locate("Median Heuristic", copy)
    assert [(p.symbol, p.source) for p in answer.locations][:1] == [("kernel_width", "retrieved")]
    assert "missing" in answer.note


def test_a_text_in_a_copy(service: Service, copy: Path) -> None:
    best = service.locate("AdaGrad step size: an exponential average of squared updates", copy).locations[0]
    assert best.symbol.startswith("AdaGrad")
    assert (best.source, best.technique, best.commit) == ("retrieved", None, None)
    for absent in ("leader election in replicated logs", "byte pair encoding of subword tokens"):
        weak = service.locate(absent, copy)
        assert {p.confidence for p in weak.locations} == {"weak"}
        assert "certain" in weak.note
    nothing = service.locate("\N{HORIZONTAL ELLIPSIS}", copy)
    assert nothing.locations == ()
    assert nothing.note


def test_a_text_has_the_places_of_the_technique_that_it_means_first_with_and_without_a_copy(
    service: Service, copy: Path
) -> None:
    text = "how the kernel's bandwidth is set from the median distance"
    push_down(copy / "svgd" / "kernels.py")
    stored, moved = service.locate(text).locations[0], service.locate(text, copy).locations[0]
    assert (stored.symbol, stored.technique, stored.source) == (
        "median_bandwidth",
        f"{PAPER}#method/bandwidth",
        "stored",
    )
    assert (moved.symbol, moved.technique, moved.source) == ("median_bandwidth", f"{PAPER}#method/bandwidth", "moved")
    assert len(service.locate(text, copy, 50).locations) > 5


def test_ids_that_are_not_here_and_folders_that_hold_nothing(service: Service, tmp_path: Path) -> None:
    with pytest.raises(UnknownIdError, match="nearest"):
        service.locate(f"{PAPER}#method/none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        service.locate(DIRECTION, tmp_path / "empty")


def test_the_command_prints_the_same_answer(
    service: Service, kg: Path, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    push_down(copy / "svgd" / "stein.py")
    assert run("--kg", kg, "locate", DIRECTION, "--repo", copy, "-k", "1", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("cut") == "1 weaker locations; use -k for more"
    assert printed == service.locate(DIRECTION, copy, 1).model_dump(mode="json", exclude={"cut"})
    assert run("--kg", kg, "locate", DIRECTION, "--repo", copy / "none") == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


async def test_a_git_directory_outside_of_the_roots_gives_nothing_away(service: Service, tmp_path: Path) -> None:
    """An outside repository must reveal neither names nor lines, whether it is bare or reached through a pointer."""
    shutil.copytree(EXAMPLE, tmp_path / "outside")
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(tmp_path / "outside"), *identity, *arguments], check=True)
    root = tmp_path / "root"
    (root / "copy").mkdir(parents=True)
    (root / "copy" / ".git").write_text(f"gitdir: {tmp_path}/outside/.git\n")
    (root / "link").mkdir()
    (root / "link" / ".git").symlink_to(tmp_path / "outside" / ".git")
    async with Client(make_server(Served(service, [root]))) as client:
        for folder in ("copy", "link"):
            answer = await client.call_tool("locate", {"technique": "SD", "repository": folder})
            assert answer.is_error
            assert "stein" not in str(answer.content)


async def test_over_the_protocol_within_roots(service: Service, copy: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    shutil.copytree(EXAMPLE, tmp_path / "outside" / "copy")
    (copy / "link").symlink_to(tmp_path / "outside")
    push_down(copy / "svgd" / "stein.py")
    async with Client(make_server(Served(service, [copy]))) as client:

        async def ask(**arguments: Any) -> Any:
            return await client.call_tool("locate", arguments)

        result = await ask(technique=DIRECTION, repository=str(copy))
        assert not result.is_error, result.content
        places = result.structured_content["locations"]
        assert [p["source"] for p in places] == ["moved", "moved"]
        assert set(places[0]) >= {
            "repository", "commit", "path", "start_line", "end_line", "symbol", "score", "source"
        }  # fmt: skip
        place = places[0]
        lines = f"{place['path']}:{place['start_line']}-{place['end_line']} {place['symbol']}"
        assert f"{lines}  [{place['score']}, {place['source']}, certain]" in result.content[0].text
        assert (await ask(technique="SD", repository=".")).structured_content["locations"] == places
        stored = (await ask(technique="SD")).structured_content["locations"]
        assert [p["source"] for p in stored] == ["stored", "stored"]
        for folder in (str(tmp_path / "outside" / "copy"), "link/copy", "..", "svgd/stein.py", "none"):
            refused = await ask(technique="SD", repository=folder)
            assert refused.is_error
            assert "serve.roots" in refused.content[0].text
            assert "Traceback" not in json.dumps(refused.content[0].text)
        assert (await ask(technique="SD", repository="")).is_error
    async with Client(make_server(Served(service))) as client:
        refused = await client.call_tool("locate", {"technique": "SD", "repository": str(copy)})
        assert refused.is_error


def test_a_technique_without_a_place_of_its_own_has_those_of_its_components(service: Service) -> None:
    answer = service.locate("Particle Flow")
    assert {p.symbol for p in answer.locations} == {"stein_direction", "repulsive_force", "median_bandwidth"}
    assert "components" in answer.note
    nowhere = service.locate("Bayesian Logistic Regression")
    assert nowhere.locations == ()
    assert nowhere.note


def test_a_copy_needs_no_graph(tmp_path: Path, copy: Path) -> None:
    with opened(tmp_path / "none") as service:
        assert service.locate("RBF kernel", copy).locations[0].symbol == "rbf_kernel"
        with pytest.raises(StoreError, match="xkg build"):
            service.locate("RBF kernel")
    assert not (tmp_path / "none").exists()
