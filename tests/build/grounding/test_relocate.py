"""Finds symbols again in a copy that has changed."""

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.build.code.codebase import Codebase, Module, SourceSymbol
from xkg.build.code.repository import parse_repository
from xkg.build.grounding import relocate as relocating
from xkg.build.grounding.relocate import Match, relocate
from xkg.build.repositories.checkout import fetch_repository, read_folder
from xkg.model import Repository, Symbol, symbol_id

EXAMPLE = Path(__file__).parents[3] / "examples" / "svgd" / "code"
STORED = parse_repository(fetch_repository(str(EXAMPLE), Path("unused")))
SYMBOLS = [source.symbol for source in STORED.symbols().values()]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "copy"))


def read(folder: Path) -> Codebase:
    return parse_repository(read_folder(folder))


def stored(path: str, name: str) -> Symbol:
    return next(s for s in SYMBOLS if (s.path, s.qualified_name) == (path, name))


def again(folder: Path, path: str, name: str) -> Match | None:
    symbol = stored(path, name)
    return relocate([symbol], SYMBOLS, read(folder)).get(symbol.id)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), share=st.floats(0, 1))
def test_symbols_are_found_among_new_lines(seed: int, share: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = random.Random(seed)
    folder = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("moved") / "copy"))
    moved: dict[tuple[str, int], int] = {}
    for file in sorted(folder.rglob("*.py")):
        path = file.relative_to(folder).as_posix()
        lines: list[str] = []
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            if source.random() < share:
                lines += [source.choice(["", "# a note", "        # an indented note"])] * source.randint(1, 4)
            lines.append(line)
            moved[path, number] = len(lines)
        file.write_text("\n".join(lines) + "\n")
    found = relocate(SYMBOLS, SYMBOLS, read(folder))
    for symbol in SYMBOLS:
        new = found[symbol.id].symbol
        assert (new.path, new.qualified_name, new.kind) == (symbol.path, symbol.qualified_name, symbol.kind)
        assert found[symbol.id].likeness == 1.0
        if symbol.kind != "module":
            assert new.start_line == moved[symbol.path, symbol.start_line]
            end = moved[symbol.path, symbol.end_line]
            assert new.end_line >= end
            # An indented comment directly after a body counts as part of it.
            after = (folder / symbol.path).read_text().splitlines()[end : new.end_line]
            assert all(line.strip()[:1] in ("", "#") for line in after)


def test_a_file_that_was_renamed_or_moved_to_another_folder(copy: Path) -> None:
    (copy / "svgd" / "kernels.py").rename(copy / "svgd" / "gram.py")
    (copy / "deep").mkdir()
    (copy / "svgd" / "stepsize.py").rename(copy / "deep" / "stepsize.py")
    for name in ("rbf_kernel", "median_bandwidth", "pairwise_squared_distances", "MIN_BANDWIDTH"):
        found = again(copy, "svgd/kernels.py", name)
        assert found is not None
        assert (found.symbol.path, found.symbol.qualified_name) == ("svgd/gram.py", name)
    # Two methods with the same name remain distinct.
    for owner in ("AdaGrad", "ConstantStep"):
        found = again(copy, "svgd/stepsize.py", f"{owner}.step")
        assert found is not None
        assert (found.symbol.path, found.symbol.qualified_name) == ("deep/stepsize.py", f"{owner}.step")


def test_a_copy_whose_root_is_above_or_below(tmp_path: Path, copy: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "project" / "third" / "code")
    for folder, path in (
        (tmp_path / "project", "third/code/svgd/stein.py"),
        (copy / "svgd", "stein.py"),
    ):
        found = again(folder, "svgd/stein.py", "stein_direction")
        assert found is not None
        assert (found.symbol.path, found.likeness) == (path, 1.0)


def test_a_deleted_function_is_gone_though_others_are_like_it(copy: Path) -> None:
    file = copy / "svgd" / "stepsize.py"
    file.write_text(file.read_text().partition("class ConstantStep")[0])
    assert again(copy, "svgd/stepsize.py", "ConstantStep.step") is None
    assert again(copy, "svgd/stepsize.py", "ConstantStep") is None
    assert again(copy, "svgd/stepsize.py", "AdaGrad.step") is not None


def test_an_edited_body_is_still_the_function_but_less_like_it(copy: Path) -> None:
    edit(copy / "svgd" / "kernels.py", "kernel = np.exp(-squared / h)", "kernel = (1.0 + squared / h) ** -0.5")
    found = again(copy, "svgd/kernels.py", "rbf_kernel")
    assert found is not None
    assert found.symbol.qualified_name == "rbf_kernel"
    assert 0.6 < found.likeness < 1.0


@pytest.mark.parametrize("passed_on", [False, True])
def test_a_renamed_function_is_known_by_its_body_though_the_old_name_passes_on(copy: Path, passed_on: bool) -> None:
    file = copy / "svgd" / "stein.py"
    edit(file, "def stein_direction(", "def _direction(")
    if passed_on:
        call = "def stein_direction(*given):\n    return _direction(*given)\n\n\n"
        edit(file, "def kernelized_stein", f"{call}def kernelized_stein")
    found = again(copy, "svgd/stein.py", "stein_direction")
    assert found is not None
    assert found.symbol.qualified_name == "_direction"


def test_two_functions_of_one_name_keep_their_bodies(tmp_path: Path) -> None:
    fast = "    def f(x):\n        n = 0\n        for item in x:\n            n += item * item\n        return n\n"
    slow = "    def f(x):\n        import math\n        return math.fsum(math.pow(item, 2) for item in reversed(x))\n"
    repository = tmp_path / "old"
    repository.mkdir()
    (repository / "a.py").write_text(f"if FAST:\n{fast}else:\n{slow}")
    old = read(repository)
    both = [s.symbol for s in old.symbols().values() if s.symbol.qualified_name == "f"]
    assert len(both) == 2
    (repository / "a.py").write_text(f"if not FAST:\n{slow}else:\n{fast}")
    everything = [s.symbol for s in old.symbols().values()]
    swapped = relocate(both, everything, read(repository))
    assert [swapped[s.id].symbol.start_line for s in both] == [6, 2]
    assert relocate(both[:1], everything, read(repository))[both[0].id].symbol.start_line == 6
    (repository / "a.py").write_text(f"if not FAST:\n{slow}")
    left = relocate(both, everything, read(repository))
    assert [s.id in left for s in both] == [False, True]


def test_another_repository_with_a_file_and_function_of_that_name_is_not_it(tmp_path: Path) -> None:
    (tmp_path / "svgd").mkdir()
    (tmp_path / "svgd" / "experiment.py").write_text(
        "import argparse\n\n\ndef main():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--port', type=int, default=8080)\n    serve(parser.parse_args().port)\n"
    )
    assert again(tmp_path, "svgd/experiment.py", "main") is None


def test_without_sketches_names_tell(copy: Path) -> None:
    old = [symbol.model_copy(update={"fingerprint": ""}) for symbol in SYMBOLS]
    edit(copy / "svgd" / "stein.py", "import numpy as np\n", "# moved\nimport numpy as np\n")
    wanted = [s for s in old if s.qualified_name in ("stein_direction", "AdaGrad.step")]
    found = relocate(wanted, old, read(copy))
    assert [found[s.id].symbol.start_line - s.start_line for s in wanted] == [1, 0]
    (copy / "svgd" / "stein.py").unlink()
    assert set(relocate(wanted, old, read(copy))) == {s.id for s in wanted if s.path == "svgd/stepsize.py"}


def large(files: int, folder: str) -> list[Symbol]:
    """Creates a repository of this many files, each with a few functions and a distinct body."""
    source = random.Random(files)
    found = []
    for n in range(files):
        path = f"{folder}/m{n}.py"
        sketch = "".join(source.choice("0123456789abcdef") for _ in range(64))
        for name in ("", "main", "Config", f"train{n}"):
            place = {"path": path, "qualified_name": name, "kind": "function" if name else "module"}
            known = {"id": symbol_id("local:big@1", path, name), "repository": "local:big@1", "fingerprint": sketch}
            found.append(SYMBOLS[0].model_copy(update={**place, **known}))
    return found


def as_copy(symbols: list[Symbol]) -> Codebase:
    modules: dict[str, list[SourceSymbol]] = {}
    for symbol in symbols:
        modules.setdefault(symbol.path, []).append(SourceSymbol(symbol=symbol))
    repository = Repository(id="local:big@1", url="")
    return Codebase(
        repository=repository, modules=tuple(Module(path=p, text="", symbols=tuple(s)) for p, s in modules.items())
    )


@pytest.mark.parametrize("moved_to", ["src/old", "new/place"])
def test_few_files_are_compared_however_many_there_are(monkeypatch: pytest.MonkeyPatch, moved_to: str) -> None:
    compared = []
    for function in ("_file_likeness", "similarity"):
        original = getattr(relocating, function)
        monkeypatch.setattr(relocating, function, lambda *a, original=original: compared.append(1) or original(*a))
    for files in (100, 400):
        compared.clear()
        old = large(files, "old")
        wanted = [s for s in old if s.qualified_name.startswith("train")][:20]
        found = relocate(wanted, old, as_copy(large(files, moved_to)))
        assert {i: f.symbol.path for i, f in found.items()} == {s.id: s.path.replace("old", moved_to) for s in wanted}
        assert len(compared) <= 10 * files
