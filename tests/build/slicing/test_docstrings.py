import ast

from hypothesis import given
from hypothesis import strategies as st

from xkg.build.slicing.docstrings import with_short_docstrings

DOCUMENTED = '''class Long:
    """Does a thing.

    On lines.

    On more
    lines.
    """

    def method(self):
        """Does
        two things.

        Args:
            a: one
            b: two
            c: three
        """
        return 1

    def short(self):
        """Does.

        Little.
        """
        return 2
'''


def test_docstrings_are_cut_to_their_first_paragraph_except_the_located_ones() -> None:
    cut = with_short_docstrings(DOCUMENTED, {"Long.method"})
    tree = ast.parse(cut)
    assert ast.get_docstring(tree.body[0]) == "Does a thing. …"  # type: ignore[arg-type]
    assert "c: three" in cut
    assert "Little." in cut
    everything = with_short_docstrings(DOCUMENTED, ())
    assert "c: three" not in everything
    assert "two things. …" in everything
    assert "Little." in everything


@given(st.text(alphabet="ab\n\"'\\ :=()#", max_size=120))
def test_any_code_keeps_what_it_computes(text: str) -> None:
    try:
        before = ast.parse(text)
    except (SyntaxError, ValueError):
        assert with_short_docstrings(text, ()) == text
        return
    after = ast.parse(with_short_docstrings(text, ()))
    assert [type(n) for n in ast.walk(after)] == [type(n) for n in ast.walk(before)]
