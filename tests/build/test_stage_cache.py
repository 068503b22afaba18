from collections.abc import Callable
from pathlib import Path

import grimp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import xkg
from xkg.build.stage_cache import DECIDING, DECIDING_FILES, Event, StageCache, StageReport, stage_key
from xkg.errors import StoreError


class Words(BaseModel):
    words: tuple[str, ...]


class Counter:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0
        self.reports: list[StageReport] = []

    def _heard(self, event: Event) -> None:
        if isinstance(event, StageReport):
            self.reports.append(event)

    def __call__(self, text: str = "a b", *, keep: Callable[[Words], bool] = lambda _: True) -> Words:
        def compute() -> Words:
            self.runs += 1
            return Words(words=tuple(text.split(" ")))

        cache = StageCache(self.folder, self._heard)
        return cache.stage("split", {"text": text}, Words, compute, lambda w: f"{len(w.words)} words", keep=keep)


@pytest.fixture
def split(tmp_path: Path) -> Counter:
    return Counter(tmp_path / "work")


def test_a_changed_input_and_a_changed_pipeline_are_done_anew(split: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    split("a b")
    assert split("a b c").words == ("a", "b", "c")
    monkeypatch.setattr("xkg.build.stage_cache.pipeline_version", lambda: "of tomorrow")
    split("a b")
    assert split.runs == 3
    monkeypatch.undo()
    split("a b")  # the old pipeline's output is still stored
    assert split.runs == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole.replace(b'"a"', b'"c"'),
        lambda whole: b"\xff\xfe" + whole,
    ],
)
def test_an_output_that_is_damaged_is_made_anew_not_believed(split: Counter, damage: Callable[[bytes], bytes]) -> None:
    made = split()
    (path,) = split.folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert split() == made
    assert split.runs == 2
    assert split() == made
    assert split.runs == 2


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=8), max_size=3))
def test_any_text_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    folder = tmp_path_factory.mktemp("work")
    for _ in range(2):
        made = StageCache(folder).stage("w", {"w": words}, Words, lambda: Words(words=tuple(words)), str)
        assert made.words == tuple(words)


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)), st.text(max_size=3), st.integers())
def test_the_key_follows_each_input_and_not_their_order(inputs: dict[str, object], name: str, value: int) -> None:
    assert stage_key(inputs) == stage_key(dict(reversed(inputs.items())))
    if name not in ("pipeline", *inputs) or (name in inputs and inputs[name] != value):
        assert stage_key({**inputs, name: value}) != stage_key(inputs)


def test_time_inside_a_stage_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: clock)
    cache = StageCache(tmp_path)

    def spend(seconds: float) -> str:
        nonlocal clock
        clock += seconds
        return "done"

    def outer() -> str:
        spend(1)
        cache.timed("inner", lambda: spend(10), lambda t: (t, False))
        return spend(2)

    cache.timed("outer", outer, lambda t: (t, False))
    assert [(r.name, r.seconds) for r in cache.reports] == [("inner", 10), ("outer", 3)]


def test_an_unreadable_folder_gives_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("a file is in the way")
    with pytest.raises(StoreError, match="fix the file, or delete its folder") as caught:
        Counter(tmp_path / "work" / "paper")()
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_one_line_and_leaves_no_partial_output(split: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="No space left on device; free disk space or correct its permissions"):
        split()
    assert list(split.folder.iterdir()) == []


def test_the_version_of_the_pipeline_covers_all_that_decides_an_output() -> None:
    """Covers every module that `build` imports, directly or indirectly. Modules whose changes cannot affect a stage's
    output are excluded. Settings are excluded because they are inputs of a stage, and prompts because they have
    versions of their own."""
    graph = grimp.build_graph("xkg", cache_dir=None)
    used = graph.find_upstream_modules("xkg.build", as_package=True) - {"xkg"}
    deciding = {f"xkg.{place.removesuffix('.py')}" for place in DECIDING}
    outside = {name for name in used if not any(name == top or name.startswith(f"{top}.") for top in deciding)}
    assert {name for name in outside if not name.startswith("xkg.llm")} == {
        "xkg.blacklist",
        "xkg.clock",
        "xkg.config",
        "xkg.errors",
        "xkg.files",
        "xkg.openai_server",
        "xkg.operating_system",
        "xkg.sqlite_files",
        "xkg.retry_after",
    }
    assert all((Path(xkg.__file__).parent / place).exists() for place in DECIDING)
    kept = [file for place in DECIDING for file in (Path(xkg.__file__).parent / place).rglob("*") if file.is_file()]
    suffixes = {file.suffix for file in kept if "__pycache__" not in file.parts}
    assert suffixes - {*DECIDING_FILES, ".md"} <= {""}, "a table that decides an output is no part of the version"
