from functools import cache
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build.codebases import codebase_of
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


INDEX = SymbolIndex(
    codebase_of({"core.py": SOURCE, "setup.py": "from core import clip\n\n\ndef clip_all():\n    clip()\n"})
)


def named(name: str) -> str:
    return next(symbol for symbol in INDEX.entries if symbol.endswith(f"core.py::{name}"))


def test_constants_and_packaging_locate_nothing() -> None:
    assert not any("LIMIT" in symbol or "setup.py" in symbol for symbol in INDEX.entries)


def test_a_name_says_more_than_a_body() -> None:
    ranked = list(INDEX.search({"clip": 1.0}))
    assert ranked[0] == named("clip")
    assert named("project") in ranked


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    assert 0 <= INDEX.rarity("return") < INDEX.rarity("floor") < INDEX.rarity("nowher") == 1


def test_what_only_supports_is_held_back() -> None:
    names = ("Base.update", "Base.__repr__", "project", "clip", "Base.__call__")
    entries = {name: INDEX.entries[named(name)] for name in names}
    assert [name for name, entry in entries.items() if is_abstract(entry)] == ["Base.update"]
    factors = {name: role_factor(entry, frozenset()) for name, entry in entries.items()}
    assert max(factors["Base.update"], factors["Base.__repr__"]) < factors["clip"]
    assert factors["Base.__call__"] == 1


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
    """A quadratic scan of this text would take an hour."""
    assert set(strip_comments("/*" * 4_000_000, "cpp")) == {"*"}
