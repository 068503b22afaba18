"""Fielded BM25 over symbols, and the roles that hold them back."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.build.code.codebase import Codebase
from xkg.build.code.repository import parse_repository
from xkg.build.grounding.index.symbol_index import SymbolIndex, strip_comments
from xkg.build.grounding.index.symbol_roles import is_abstract, role_factor
from xkg.build.repositories.checkout import fetch_repository

DATA = Path(__file__).parents[3] / "data" / "ground"
SOURCE = '''
class Base:
    def update(self, x):
        """Move on."""
        raise NotImplementedError

    def __repr__(self):
        return "base"

    def __call__(self, x):
        y = x + 1
        y = y * 2
        y = y - 3
        y = y / 4
        return y


def project(x, floor):
    """Long
    docstring."""
    # a remark
    return clip(x, floor)


def clip(x, floor):
    low = x < floor
    high = x > 1
    x[low] = floor
    x[high] = 1
    return x


LIMIT = 3
'''


def index_of(tmp_path: Path, files: dict[str, str]) -> SymbolIndex:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return SymbolIndex(parse_repository(fetch_repository(str(tmp_path), tmp_path)))


@pytest.fixture
def index(tmp_path: Path) -> SymbolIndex:
    return index_of(
        tmp_path, {"core.py": SOURCE, "setup.py": "from core import clip\n\n\ndef clip_all():\n    clip()\n"}
    )


def named(index: SymbolIndex, name: str) -> str:
    return next(symbol for symbol in index.entries if symbol.endswith(f"core.py::{name}"))


def test_constants_and_packaging_locate_nothing(index: SymbolIndex) -> None:
    assert not any("LIMIT" in symbol or "setup.py" in symbol for symbol in index.entries)


def test_a_name_says_more_than_a_body(index: SymbolIndex) -> None:
    ranked = list(index.search({"clip": 1.0}))
    assert ranked[0] == named(index, "clip")
    assert named(index, "project") in ranked


def test_a_rare_word_is_worth_more_than_a_common_one(index: SymbolIndex) -> None:
    assert 0 <= index.rarity("return") < index.rarity("floor") < index.rarity("nowher") == 1


def test_shapes(index: SymbolIndex) -> None:
    entries = {name: index.entries[named(index, name)] for name in ("Base.update", "Base.__call__", "project", "clip")}
    assert [name for name, entry in entries.items() if is_abstract(entry)] == ["Base.update"]


@pytest.mark.parametrize("name", ["Base.__repr__", "Base.update"])
def test_what_only_supports_is_held_back(index: SymbolIndex, name: str) -> None:
    factor = {
        each: role_factor(index.entries[named(index, each)], frozenset()) for each in (name, "clip", "Base.__call__")
    }
    assert factor[name] < factor["clip"]
    assert factor["Base.__call__"] == 1


@pytest.mark.parametrize(
    ("path", "about"), [("tests/test_core.py", "test"), ("plots.py", "plot"), ("log/core.py", "log"), ("cli.py", "cli")]
)
def test_a_role_holds_back_unless_it_is_what_is_looked_for(tmp_path: Path, path: str, about: str) -> None:
    index = index_of(tmp_path, {path: "def clip(x):\n    y = x\n    return y\n"})
    entry = next(e for e in index.entries.values() if e.kind == "function")
    assert role_factor(entry, frozenset()) < 1 == role_factor(entry, {about})


def test_no_symbols() -> None:
    empty = SymbolIndex(Codebase.model_validate({"repository": {"id": "r", "url": "r"}}))
    assert empty.search({"word": 1.0}) == {}
    assert empty.rarity("word") == 1


@settings(max_examples=25)
@given(words=st.dictionaries(st.sampled_from(["echo", "memori", "gate", "slot", "zebra", "loss"]), st.floats(0.1, 3)))
def test_scores_grow_with_the_query(words: dict[str, float]) -> None:
    index = _tern()
    scores = index.search(words)
    assert all(score > 0 for score in scores.values())
    more = index.search({**words, "echo": words.get("echo", 0) + 1})
    assert all(more[symbol] >= score for symbol, score in scores.items())


@cache
def _tern() -> SymbolIndex:
    return SymbolIndex(parse_repository(fetch_repository(str(DATA), DATA)))


def test_comments_take_linear_time() -> None:
    """A quadratic scan of this text takes an hour."""
    assert set(strip_comments("/*" * 4_000_000, "cpp")) == {"*"}
