import http.server
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.command import run
from tests.commands.library.graphs import MODEL, graph, settings_of
from tests.library.writers import change
from tests.loopback import Served
from tests.store.graphs import FakeHashEmbedder, a_paper
from xkg.attestations import keys, trust
from xkg.attestations.bundles import attach
from xkg.attestations.envelope import attest
from xkg.commands.graph.contents import remove
from xkg.commands.graph.diff import diff
from xkg.commands.graph.open import open_store
from xkg.commands.library.pull import pull
from xkg.commands.library.push import push
from xkg.config import Settings
from xkg.errors import InputError, UnknownIdError
from xkg.library.heads import add
from xkg.library.layout import HEAD
from xkg.library.open import open_place
from xkg.library.state import Seen
from xkg.model import Ablation, Evidence, Level, PaperBundle
from xkg.store.bundles import read

ABLATION = Ablation(
    id="arxiv:2101.00001#method/warm-up!0123456789ab",
    technique="arxiv:2101.00001#method/warm-up",
    metric="accuracy",
    direction="max",
    baseline=0.9,
    value=0.8,
    change=-0.11,
    seeds=3,
    kind="toggle",
    diff="-    warm_up()\n",
    commit="c0ffee",
    command="python train.py",
    measured_at="2026-01-01T00:00:00Z",
)


@pytest.fixture
def served(tmp_path: Path) -> "Iterator[tuple[str, list[str]]]":
    """Yields the address of a web server for `tmp_path / 'library'`, and the requested paths."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *_: Any) -> None:
            asked.append(self.path)

        def log_message(self, *_: Any) -> None: ...

    with Served(partial(Handler, directory=str(tmp_path / "library"))) as server:
        yield server.url, asked


def papers_of(settings: Settings) -> dict[str, PaperBundle]:
    with open_store(settings) as store:
        return {bundle.paper.id: bundle for bundle in store.bundles()}


def proven(bundle: PaperBundle, level: Level) -> PaperBundle:
    code = tuple(
        each.model_copy(
            update={
                "level": level,
                "evidence": (each.evidence[-1].model_copy(update={"level": level, "runner": "bwrap"}),),
            }
        )
        for each in bundle.code
    )
    return bundle.model_copy(update={"code": code})


def test_a_paper_goes_by_a_library_from_one_graph_into_another(writable: str, tmp_path: Path) -> None:
    one = graph(tmp_path / "one", [a_paper(1), a_paper(2)])
    with open_store(one) as store:
        store.add_ablations([ABLATION])
    assert len(push(one, writable).papers) == 2
    assert push(one, writable).papers == ()
    two = settings_of(tmp_path / "two")
    assert len(pull(two, writable).papers) == 2  # this works although embedding is disabled here
    got = papers_of(two)["arxiv:2101.00001"]
    assert got.techniques == a_paper(1).techniques
    assert got.code[0].implementation == a_paper(1).code[0].implementation
    assert got.code[0].level is Level.CLAIMED
    assert got.repositories == a_paper(1).repositories
    with open_store(two) as store:
        assert store.ablations() == (ABLATION,)
    graph(tmp_path / "one", [a_paper(3)])
    assert push(one, writable, ["arxiv:2101.00003"]).papers == ("arxiv:2101.00003",)
    assert pull(two, writable).papers == ("arxiv:2101.00003",)
    assert pull(two, writable).papers == ()
    remove(two, "arxiv:2101.00003")
    assert pull(two, writable).papers == ()
    assert pull(two, writable, ["paper 3"]).papers == ("arxiv:2101.00003",)


def test_one_paper_is_found_by_its_title_with_three_requests(served: tuple[str, list[str]], tmp_path: Path) -> None:
    address, asked = served
    push(graph(tmp_path / "one", [a_paper(number) for number in range(1, 40)]), str(tmp_path / "library"))
    two = settings_of(tmp_path / "two")
    assert pull(two, address, ["paper 7"]).papers == ("arxiv:2101.00007",)
    assert len(asked) <= 4  # reads the head, the index, the index of a larger library, and the package
    asked.clear()
    assert pull(two, address, topic="Layer normalisation by hand").papers == ()
    assert pull(two, address, topic="layer normalisation 12").papers == ("arxiv:2101.00012",)
    asked.clear()
    assert pull(two, address, topic="layer normalisation 12").papers == ()
    assert asked == [f"/{HEAD}"]
    assert len(pull(two, address, level=Level.TESTED).papers) == 0
    with pytest.raises(UnknownIdError, match="paper 99"):
        pull(two, address, ["paper 99"])
    assert len(pull(two, address).papers) == 37
    asked.clear()
    assert pull(two, address).papers == ()
    assert asked == [f"/{HEAD}"]


def test_code_without_a_licence_stays_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.embeddings.factory.make_embedder", lambda _: FakeHashEmbedder())
    bundle = a_paper(1)
    [repository] = bundle.repositories
    own = repository.model_copy(update={"license": None})
    settings = graph(tmp_path / "one", [bundle.model_copy(update={"repositories": (own,)})])
    library = str(tmp_path / "library")
    result = push(settings, library)
    assert result.papers == ()
    assert "nn/norm.py" in result.left_out[0]
    assert push(settings, library, claims_only=True).papers == ("arxiv:2101.00001",)
    pull(settings_of(tmp_path / "two"), library)
    got = papers_of(settings_of(tmp_path / "two"))["arxiv:2101.00001"]
    assert (got.code, len(got.techniques), len(got.locations)) == ((), 3, 1)
    with_header = own.model_copy(update={"file_licenses": {"nn/norm.py": "BSD-3-Clause"}})
    settings = graph(tmp_path / "three", [bundle.model_copy(update={"repositories": (with_header,)})])
    assert push(settings, str(tmp_path / "licensed")).left_out == ()


def test_what_a_blacklist_names_neither_goes_nor_comes(tmp_path: Path) -> None:
    settings, library = graph(tmp_path / "one", [a_paper(1), a_paper(2)]), str(tmp_path / "library")
    blacklist = tmp_path / "blacklist"
    blacklist.write_text("arXiv:2101.00001\n")
    assert push(settings, library, blacklist=blacklist).papers == ("arxiv:2101.00002",)
    blacklist.write_text("https://github.com/O/r\n")
    assert len(push(settings, library, blacklist=blacklist).left_out) == 2
    assert pull(settings_of(tmp_path / "two"), library, blacklist=blacklist).papers == ()


def test_the_command_line_says_what_was_left_out_and_shows_no_control_sequence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XKG_EMBEDDING__MODEL", MODEL)
    bundle, library = a_paper(1), str(tmp_path / "library")
    own = tuple(each.model_copy(update={"license": None}) for each in bundle.repositories)
    graph(tmp_path / "one", [bundle.model_copy(update={"repositories": own}), a_paper(2)])

    def xkg(*arguments: str) -> tuple[int, str]:
        return run(*arguments), "".join(capsys.readouterr())

    code, said = xkg("--kg", str(tmp_path / "one"), "push", library)
    assert code == 1
    assert "1 paper pushed" in said
    assert "left out: arxiv:2101.00001: no known licence" in said
    place = open_place(library, tmp_path)
    with Seen(tmp_path, "evil") as seen:
        add(place, [change("evil\x1b[2J", "e" * 64)], seen)
    code, said = xkg("--kg", str(tmp_path / "two"), "pull", library)
    assert code == 1
    assert "1 paper pulled" in said
    assert "left out: evil" in said
    assert "\x1b" not in said


def test_the_better_proven_of_two_is_shown_and_both_are_kept(tmp_path: Path) -> None:
    library, paper = str(tmp_path / "library"), "arxiv:2101.00001"
    push(graph(tmp_path / "one", [a_paper(1, note="theirs")]), library)
    here = proven(a_paper(1, note="ours"), Level.EXECUTED)
    two = graph(tmp_path / "two", [here])
    result = pull(two, library)
    assert result.papers == ()
    assert papers_of(two)[paper] == here
    [kept] = (tmp_path / "two" / "libraries").glob("*/kept/*.json")
    assert "theirs" in read(kept).code[0].implementation
    assert str(kept) in result.kept[0]
    [change] = diff(two, paper, library=library).papers
    assert change.levels[0].rewritten
    three = graph(tmp_path / "three", [a_paper(1, note="ours").model_copy(update={"code": (), "derivations": ()})])
    assert pull(three, library).papers == (paper,)
    [kept] = (tmp_path / "three" / "libraries" / "local").glob("*.json")
    assert read(kept).code == ()


def test_an_attestation_that_comes_later_is_one_small_package_more(
    served: tuple[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "lab"))
    key, library, bundle = keys.make_key("lab"), str(tmp_path / "library"), a_paper(1)
    one, two = graph(tmp_path / "one", [bundle]), settings_of(tmp_path / "two")
    push(one, library)
    assert pull(two, served[0]).signer == key.fingerprint
    evidence = Evidence(level=Level.IMPORTED, runner="bwrap", exit_code=0)
    envelope = attest(bundle.code[0], evidence, ["numpy==2.1.0"], keys.signer())
    graph(tmp_path / "one", [attach(bundle, [envelope])])
    assert push(one, library).papers == (bundle.paper.id,)
    served[1].clear()
    assert pull(two, served[0]).papers == (bundle.paper.id,)
    assert len(served[1]) == 3  # reads the head, the end of the log, and the new package
    [code] = papers_of(two)[bundle.paper.id].code
    assert code.level is trust.trusted().seen(code).level is Level.CLAIMED
    trust.add(key, "LAB")
    assert trust.trusted().seen(code).level is Level.IMPORTED
    assert pull(two, served[0]).papers == push(one, library).papers == ()


def test_many_papers_are_indexed_once_and_a_bad_one_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xkg.commands.library.pull._TOGETHER", 2)
    library, two = str(tmp_path / "library"), settings_of(tmp_path / "two")
    push(graph(tmp_path / "one", [a_paper(number) for number in range(1, 6)]), library)
    place = open_place(library, tmp_path)
    with Seen(tmp_path, "evil") as seen:
        add(place, [change("evil", "e" * 64)], seen)
    result = pull(two, library)
    assert (len(result.papers), result.generation) == (5, 1)
    assert [problem.partition(":")[0] for problem in result.problems] == ["evil"]
    assert not [*(tmp_path / "two" / "libraries").glob("*/packages/*")]


def test_nothing_is_taken_if_a_sample_of_the_code_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, two = str(tmp_path / "library"), settings_of(tmp_path / "two")
    push(graph(tmp_path / "one", [a_paper(1)]), library)
    short = SimpleNamespace(code="the-code", before="tested", level="imported")
    monkeypatch.setattr(
        "xkg.commands.verify.verify_sample", lambda *_, **__: SimpleNamespace(failed=(short,), verified=1)
    )
    with pytest.raises(InputError, match="the-code claims tested, reached imported"):
        pull(two, library, verify=1)
    assert papers_of(two) == {}
    assert pull(two, library).papers == ("arxiv:2101.00001",)


def test_a_newer_version_of_a_writer_takes_the_place_of_its_own_and_of_no_other(tmp_path: Path) -> None:
    library, paper = str(tmp_path / "library"), "arxiv:2101.00001"
    one, two = tmp_path / "one", tmp_path / "two"
    push(graph(one, [proven(a_paper(1, note="first"), Level.TESTED)]), library)
    push(graph(two, [a_paper(1, note="another")]), library)
    push(graph(one, [a_paper(1, note="corrected")]), library)
    reader = settings_of(tmp_path / "reader")
    pull(reader, library)
    assert "first" not in papers_of(reader)[paper].code[0].implementation


def _killed(step: str) -> Callable[..., None]:
    def at(what: str, *_: object) -> None:
        if what == step:
            os._exit(9)

    return at


def killed(kind: str, kg: str, place: str, step: str) -> None:
    do = push if kind == "push" else pull
    do(settings_of(Path(kg)), place, notify=_killed(step))


@pytest.mark.parametrize(
    ("kind", "step"), [("push", "reading"), ("push", "writing"), ("pull", "taking papers"), ("pull", "indexing")]
)
@pytest.mark.product("each step", "kind", "step")
def test_who_is_killed_goes_on_the_next_time(kind: str, step: str, tmp_path: Path) -> None:
    library = str(tmp_path / "library")
    one, two = graph(tmp_path / "one", [a_paper(1), a_paper(2)]), settings_of(tmp_path / "two")
    if kind == "pull":
        push(one, library)
    kg = str((one if kind == "push" else two).kg)
    code = "import sys; from tests.commands.library.test_push_pull import killed; killed(*sys.argv[1:])"
    assert subprocess.run([sys.executable, "-c", code, kind, kg, library, step], check=False).returncode == 9
    push(one, library)
    assert len(pull(two, library).papers) == 2
    assert set(papers_of(two)) == set(papers_of(one))
