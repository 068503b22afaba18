"""Tests the BM25 search over the fields of symbols, and the roles that lower a symbol's rank."""

from tests.build.codebases import codebase_of
from xkg.build.grounding.index.symbol_index import SymbolIndex, strip_comments
from xkg.build.grounding.index.symbol_roles import is_abstract, role_factor

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


def test_comments_take_linear_time() -> None:
    """A quadratic scan of this text would take an hour."""
    assert set(strip_comments("/*" * 4_000_000, "cpp")) == {"*"}
