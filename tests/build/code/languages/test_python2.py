import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.code.languages.python2 import as_python3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('print "a", b', 'print("a", b)'),
        ("print >>log, a; print 1", "print(a, file=log); print(1)"),
        ("print >>log, a,\nprint 1", 'print(a, file=log, end=" ")\nprint(1)'),
        ("print `a`", "print(repr(a))"),
        ("for i in xrange(3): print i; print unicode(i)", "for i in range(3): print(i); print(str(i))"),
        ("for i in xrange(3): print(i)", "for i in range(3): print(i)"),
        ('exec "x = 1" in d', 'exec("x = 1", d)'),
        ('raise ValueError, "bad"', 'raise ValueError("bad")'),
        ('raise ValueError, "bad", trace', 'raise ValueError("bad").with_traceback(trace)'),
        ("a <> 0777L or 10L or 0xFFL or 00", "a != 0o777 or 10 or 0xFF or 00"),
        ("x = ur'abc'", "x = r'abc'"),
        ("try:\n    f()\nexcept (A, B), e:\n    g(e)", "try:\n    f()\nexcept (A, B) as e:\n    g(e)"),
        ("print 1\nif a:\n        f()\n\tg()", "print(1)\nif a:\n        f()\n        g()"),
        ("print 1\nfor k in d.iteritems():\n    f(k)", "print(1)\nfor k in d.items():\n    f(k)"),
    ],
)
def test_python_2_in_python_3_s_form(before: str, after: str) -> None:
    assert as_python3(before) == after
    ast.parse(after)


@pytest.mark.parametrize(
    "text",
    ["print('a')\nxrange = range\nxrange(3)\n", "def f(:\n", "print a ! b\n", "def f(a, (b, c)):\n    print a\n"],
)
def test_what_parses_and_what_cannot_be_mended_stays(text: str) -> None:
    assert as_python3(text) == text


_PIECES = st.sampled_from(
    ['print "a"', "print >>f, a,", "if a:", "  ", "\t", "raise A, b", "except A, e:", "try:", "`a`", "07L", "<>", "("]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=5)), max_size=20), st.sampled_from(["\n", " "]))
def test_lines_keep_their_numbers(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    changed = as_python3(text)
    assert changed == text or (changed.count("\n") == text.count("\n") and ast.parse(changed))
