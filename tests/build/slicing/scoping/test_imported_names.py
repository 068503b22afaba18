from hypothesis import given
from hypothesis import strategies as st

from xkg.build.slicing.scoping.imported_names import imported_names


def test_names_by_package_however_they_are_imported() -> None:
    source = """
import a, b.c, d as other, e.f as deep
from g import x, y as z
from h.i import j
from k import *
from . import own
from .own import thing

def use():
    from a import late
    return a.early(b.c.run, b.more), other.attribute, deep.not_counted, own.no
"""
    assert imported_names([source]) == {
        "a": ("early", "late"),
        "b": ("c", "more"),
        "d": ("attribute",),
        "e": ("f",),
        "g": ("x", "y"),
        "h": ("i",),
        "k": (),
    }


def test_sources_add_up_and_broken_statements_count_for_nothing() -> None:
    assert imported_names(["import a\na.x", "from a import y", "import (\nimport b"]) == {"a": ("x", "y"), "b": ()}
    assert imported_names(["from a import x", "from a import *"]) == {"a": ()}


@given(st.text(max_size=60))
def test_any_text_can_be_read_beside_others(source: str) -> None:
    assert imported_names([source]) == imported_names([source, "import ("])
