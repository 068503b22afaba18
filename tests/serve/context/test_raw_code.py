import subprocess
from pathlib import Path

import pytest

from tests.build.repositories.git_server import serving
from tests.serve.conftest import code, technique
from xkg.build.code.repository import parse_repository
from xkg.build.parsing.parsers import Parsers
from xkg.build.repositories.checkout import fetch_repository
from xkg.build.repositories.clone import clone
from xkg.errors import InputError
from xkg.model import Derivation, Level, Paper, PaperBundle
from xkg.serve.context.raw_code import raw_code

PAPER = "title:ovens"
SOURCE = """LIMIT = 3


class Oven:
    def heat(self):
        return LIMIT


def bake(oven):
    return oven.heat()
"""
NOTEBOOK = (
    '{"cells": [{"cell_type": "markdown", "source": ["text"]}, {"cell_type": "code", "source": ["def knead():\\n", '
    '"    return 1\\n"]}], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}'
)


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Baker", "-c", "user.email=baker@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "oven"
    folder.mkdir()
    (folder / "oven.py").write_text(SOURCE)
    (folder / "dough.ipynb").write_text(NOTEBOOK)
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "An oven")
    return folder


def built_from(folder: Path, *names: str, url: str | None = None, origin: str = "build") -> PaperBundle:
    """Returns a paper with one code node, derived from these symbols of a repository."""
    codebase = parse_repository(fetch_repository(str(folder), folder.parent / "unused"))
    symbols = {s.symbol.qualified_name: s.symbol for s in codebase.symbols().values()}
    top = technique(PAPER, "oven", "Oven", "")
    node = code(top, "def oven(): ...\n", "", Level.PARSED)
    held = codebase.repository.model_copy(update={} if url is None else {"url": url})
    return PaperBundle(
        paper=Paper(id=PAPER, title="Ovens", origin=origin),  # type: ignore[arg-type]
        techniques=(top,),
        code=(node,),
        repositories=(held,),
        symbols=tuple(symbols.values()),
        derivations=tuple(Derivation(code=node.id, symbol=symbols[name].id) for name in names),
    )


def test_lines_come_from_what_was_fetched_before(
    repository: Path, tmp_path: Path, parsers: Parsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch) as server:
        url = server.add(repository)
        clone(url, None, tmp_path / "kg" / "repositories")
    bundle = built_from(repository, "Oven.heat", "bake", "Oven", "knead", url=url)
    lines, why = raw_code(bundle, tmp_path / "kg", parsers)
    assert why == ""
    assert list(lines.values()) == [
        "# dough.ipynb:1-2\ndef knead():\n    return 1\n\n"
        "# oven.py:4-6\nclass Oven:\n    def heat(self):\n        return LIMIT\n\n"
        "# oven.py:9-10\ndef bake(oven):\n    return oven.heat()"
    ]


def test_a_clone_gives_the_lines_of_the_commit_whatever_lies_in_it_now(
    repository: Path, tmp_path: Path, parsers: Parsers
) -> None:
    bundle = built_from(repository, "bake")
    (repository / "oven.py").write_text("changed = 1\n")
    lines, _ = raw_code(bundle, tmp_path / "kg", parsers, repository)
    assert list(lines.values()) == ["# oven.py:9-10\ndef bake(oven):\n    return oven.heat()"]


def test_a_folder_without_commits_must_hold_the_same_files(tmp_path: Path, parsers: Parsers) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "oven.py").write_text(SOURCE)
    bundle = built_from(folder, "bake")
    assert raw_code(bundle, tmp_path / "kg", parsers, folder)[0]
    (folder / "oven.py").write_text(SOURCE + "\n")
    with pytest.raises(InputError, match="plain does not contain the files that the code was generated from"):
        raw_code(bundle, tmp_path / "kg", parsers, folder)


def test_it_says_why_lines_cannot_be_had(repository: Path, tmp_path: Path, parsers: Parsers) -> None:
    bundle = built_from(repository, "bake", url="https://example.org/o/oven")
    assert raw_code(bundle, tmp_path / "kg", parsers) == (
        {},
        "the files of https://example.org/o/oven are not on this machine; pass a clone as `repository`",
    )
    imported = built_from(repository, origin="import")
    assert "was imported" in raw_code(imported, tmp_path / "kg", parsers)[1]
