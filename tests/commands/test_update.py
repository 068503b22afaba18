"""Tests new versions of papers and new commits of repositories, using a real arXiv client and git on loopback
servers."""

import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.build import arxiv_server
from tests.build.arxiv_server import Arxiv, tarball
from tests.build.repositories import git_server
from tests.build.repositories.git_server import GitServer
from tests.build.repositories.test_checkout import committed, git
from tests.clock import TurnedClock
from tests.conftest import ROOT
from tests.timeless import timeless
from xkg.commands import build
from xkg.commands.graph import diff
from xkg.commands.graph.contents import export_graphs
from xkg.commands.graph.open import open_store
from xkg.commands.library.pull import pull
from xkg.commands.library.push import push
from xkg.commands.update import UpdateResult, update
from xkg.commands.verify import verify
from xkg.config import ArxivSettings, EnvironmentSettings, LlmSettings, Settings
from xkg.errors import InputError, StoreError
from xkg.model import Level, PaperBundle

NUMBER = "2401.01234"
PAPER = f"arxiv:{NUMBER}"
TEX = r"""\documentclass{{article}}\title{{Sorted filters}}\begin{{document}}\maketitle
\section{{Method}}\subsection{{Sorted smoothing}}
We propose sorted smoothing, which averages each window of a signal after it was sorted, so that spikes are lost.
{more}
\end{{document}}"""
MORE = r"""\subsection{Folded median}
We propose the folded median, which folds a window of the signal over and takes the median of what is left of it."""
CODE = '''"""Filters."""
{imports}

def sorted_smoothing(signal, width):
    """Sorted smoothing: average each window of the signal after it was sorted, without its spikes."""
    smoothed = []
    for start in range(len(signal) - width + 1):
        window = sorted(signal[start : start + width])
        kept = window[1:-1]
        {result}
    return smoothed
'''
GOOD = CODE.format(imports="", result="smoothed.append(sum(kept) / len(kept))")
MOVED = CODE.format(imports="\nLIMIT = 3\n\n", result="smoothed.append(sum(kept) / len(kept))")
NEEDY = CODE.format(imports="import absent_here", result="smoothed.append(absent_here.mean(kept))")


class Sources:
    """Provides a paper on arXiv, its repository, and a graph built from both."""

    def __init__(self, arxiv: Arxiv, git: GitServer, folder: Path) -> None:
        self.arxiv, self.folder, self.server = arxiv, folder / "code", git
        self.clock = TurnedClock()
        self.settings = Settings(
            kg=folder / "kg",
            llm=LlmSettings(model="none"),
            arxiv=ArxivSettings(url=arxiv.url),
            environment=EnvironmentSettings(max_mb=0),
        )
        self.commit(GOOD)
        self.url = git.add(self.folder)
        self.publish(1)

    def commit(self, code: str) -> None:
        committed(self.folder, {"filters.py": code})

    def publish(self, version: int, more: str = "") -> None:
        source = tarball({"main.tex": TEX.format(more=more).encode()})
        self.arxiv.publish(NUMBER, source=source, version=version, title="Sorted filters")

    def build(self, reference: str = "") -> None:
        build.build(self.settings, NUMBER, self.url + reference, clock=self.clock)

    def update(self, *, check: bool = False, blacklist: Path | None = None) -> UpdateResult:
        return update(self.settings, check=check, blacklist=blacklist, clock=self.clock)

    def stored(self) -> PaperBundle:
        with open_store(self.settings) as store, store.snapshot() as snapshot:
            return snapshot.bundle(PAPER)

    def level(self) -> Level:
        [code] = self.stored().code
        return code.level


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Sources]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with arxiv_server.serving() as arxiv, git_server.serving(monkeypatch) as git:
        yield Sources(arxiv, git, tmp_path)


def test_a_new_version_and_a_new_commit_are_built_and_what_changed_is_listed(sources: Sources) -> None:
    sources.build()
    assert sources.stored().paper.arxiv_version == "v1"
    [unchanged] = sources.update().papers
    assert (unchanged.state, unchanged.news) == ("current", ())
    sources.publish(2, MORE)
    sources.commit(MOVED)
    [newer] = sources.update(check=True).papers
    assert newer.state == "newer"
    assert "arXiv has v2, but v1 was built" in newer.news
    assert sources.stored().paper.arxiv_version == "v1"
    [updated] = sources.update().papers
    assert updated.state == "updated"
    assert updated.change is not None
    assert "arxiv version: v1 -> v2" in updated.change.sources
    assert [each.after for each in updated.change.techniques] == ["Folded median"]
    assert any(place.moved for place in updated.change.places)
    assert sources.stored().paper.arxiv_version == "v2"
    assert sources.update().papers[0].state == "current"
    between = diff.diff(sources.settings)
    assert between.papers == (updated.change,)
    assert "+ Folded median" in str(between)


def test_a_library_that_has_the_new_version_is_preferred_to_a_build(sources: Sources, tmp_path: Path) -> None:
    library, other = str(tmp_path / "library"), sources.settings.model_copy(update={"kg": tmp_path / "other"})
    sources.build()
    push(sources.settings, library, allow_unlicensed=True)
    pull(other, library)
    sources.publish(2, MORE)
    sources.commit(MOVED)
    build.build(other, NUMBER, sources.url, clock=sources.clock)
    push(other, library, allow_unlicensed=True)
    [updated] = sources.update().papers
    assert updated.state == "updated"
    assert updated.notes[0] == f"pulled from {library}"
    assert updated.change is not None
    assert "arxiv version: v1 -> v2" in updated.change.sources
    assert sources.stored().paper.arxiv_version == "v2"
    sources.commit(GOOD)  # the library contains no paper made from this commit
    [built] = sources.update().papers
    assert (built.state, built.notes) == ("updated", ())


def test_what_was_asked_for_code_is_kept_with_the_paper(sources: Sources) -> None:
    asked = EnvironmentSettings(max_mb=0, packages=("h5py>=3",), cpu=True)
    build.build(sources.settings.model_copy(update={"environment": asked}), NUMBER, sources.url, clock=sources.clock)
    sources.publish(2, MORE)
    sources.commit(MOVED)
    assert sources.update().papers[0].state == "updated"
    verify(sources.settings, (), 1)
    stored = sources.stored()
    assert (stored.paper.packages, stored.paper.cpu) == (("h5py>=3",), True)
    command = stored.code[0].evidence[-1].command
    assert command is not None
    assert command.endswith(", on the CPU in place of CUDA")
    fresh = verify(sources.settings, (), 1, stale=timedelta(days=90))
    assert (fresh.nodes, str(fresh)) == ((), "no code was verified")
    assert fresh.notes == ("nothing is stale: every recorded run is more recent",)
    assert len(verify(sources.settings, (), 1, stale=timedelta(0)).nodes) == 1


@pytest.mark.product("each event × each kill: half a minute", every=True)
@pytest.mark.parametrize(
    ("first", "every"),
    [(25, 25), pytest.param(3, 6, marks=pytest.mark.product("each event × each kill"))],
)
def test_a_killed_update_loses_nothing_and_goes_on(sources: Sources, tmp_path: Path, first: int, every: int) -> None:
    """Kills the update while it builds and while it publishes, each time starting from the same graph."""
    sources.build()
    kg, before = sources.settings.kg, sources.stored()
    shutil.copytree(kg, tmp_path / "before")
    sources.publish(2, MORE)
    sources.commit(MOVED)
    sources.update()
    after = timeless(sources.stored())
    command = [sys.executable, "-m", "tests.killed_update", sources.settings.model_dump_json()]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        for event in itertools.count(first, every):
            shutil.rmtree(kg)
            shutil.copytree(tmp_path / "before", kg)
            driver.stdin.write(f"{event}\n")
            driver.stdin.flush()
            if (outcome := driver.stdout.readline().strip()) != "killed":
                break
            assert sources.stored() == before or timeless(sources.stored()) == after
            [paper] = sources.update().papers
            assert paper.state in ("updated", "current")
            assert timeless(sources.stored()) == after
            with open_store(sources.settings) as store:
                assert store.check() == []
        driver.stdin.close()
    assert outcome == "ended 0"
    assert event > first


def test_proven_code_stays_until_the_new_code_is_proven(sources: Sources) -> None:
    sources.build()
    proven = sources.stored()
    assert sources.level() is Level.IMPORTED
    sources.commit(NEEDY)
    [updated] = sources.update().papers
    assert updated.state == "updated"
    assert any(proven.code[0].id in note for note in updated.notes)
    kept = sources.stored()
    assert kept.code == proven.code
    assert len(kept.repositories) == 2
    assert verify(sources.settings, (), 1).levels == {"imported": 1}
    sources.commit(MOVED)
    [again] = sources.update().papers
    assert again.state == "updated"
    assert sources.level() is Level.IMPORTED
    after = sources.stored()
    assert len(after.repositories) == 1
    assert after.derivations != proven.derivations
    with open_store(sources.settings) as store:
        assert store.check() == []


def test_a_pinned_commit_is_not_followed_and_a_branch_is(sources: Sources) -> None:
    first = git(sources.folder, "rev-parse", "HEAD")
    sources.build(f"@{first}")
    sources.commit(MOVED)
    assert sources.update().papers[0].state == "current"
    sources.build("@main")
    assert sources.stored().repositories[0].reference == "main"
    sources.commit(GOOD)
    assert sources.update(check=True).papers[0].state == "newer"
    assert sources.update().papers[0].state == "updated"
    assert sources.stored().repositories[0].reference == "main"


def test_what_cannot_be_asked_fails_alone_and_leaves_what_was_stored(sources: Sources, tmp_path: Path) -> None:
    """Sources on a blacklist also fail, and are not contacted."""
    sources.build()
    before = sources.stored()
    sources.commit(MOVED)
    (tmp_path / "blacklist").write_text(f"{sources.url}\n")
    sources.server.asked.clear()
    [kept_out] = sources.update(check=True, blacklist=tmp_path / "blacklist").papers
    assert (kept_out.state, sources.server.asked) == ("failed", [])
    assert f"{sources.url} is excluded: the blacklist contains localhost" in kept_out.reason
    sources.folder.rename(sources.folder.with_name("gone"))
    [lost] = sources.update().papers
    assert lost.state == "failed"
    assert sources.url in lost.reason
    sources.folder.with_name("gone").rename(sources.folder)
    sources.arxiv.publish(NUMBER, version=2, comment="This paper has been withdrawn")
    [withdrawn] = sources.update().papers
    assert withdrawn.state == "failed"
    assert "withdrawn" in withdrawn.reason
    assert sources.stored() == before


def test_papers_from_files_are_named_not_built(sources: Sources, tmp_path: Path) -> None:
    (tmp_path / "own.tex").write_text(TEX.format(more=""))
    build.build(sources.settings, tmp_path / "own.tex", sources.url, paper_id="title:own")
    sources.commit(MOVED)
    [named] = sources.update().papers
    assert named.state == "by hand"
    assert "file" in named.reason
    build.build(sources.settings, tmp_path / "own.tex", str(sources.folder), paper_id="title:own")
    assert sources.update().papers[0].state == "not followed"


def test_generations_exports_and_papers_are_compared(sources: Sources, tmp_path: Path) -> None:
    sources.build()
    export_graphs(sources.settings, (), tmp_path / "before", "bundle")
    sources.publish(2, MORE)
    sources.update()
    by_folder = diff.diff(sources.settings, str(tmp_path / "before"))
    assert by_folder.papers == diff.diff(sources.settings).papers
    assert diff.diff(sources.settings, "2", "2").papers == ()
    [new] = diff.diff(sources.settings, "0", "1").papers
    assert new.sources == ("the paper was added",)
    with pytest.raises(StoreError, match=r"there is no generation 7 yet in .*; available: 1, 2"):
        diff.diff(sources.settings, "7", "2")
    with pytest.raises(InputError, match="generation"):
        diff.diff(sources.settings, "1", PAPER)
    (tmp_path / "own.tex").write_text(TEX.format(more=""))
    build.build(sources.settings, tmp_path / "own.tex", None, paper_id="title:own")
    [papers] = diff.diff(sources.settings, "title:own", PAPER).papers
    assert "id: title:own -> arxiv:2401.01234" in papers.sources
