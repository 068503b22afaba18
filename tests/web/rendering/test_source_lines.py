import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.web.rendering.source_lines import BLANK_LINES, LARGEST, LONGEST_LINE, highlighted, lines

CODE = st.text(alphabet="ab('\\\"\n #<>&\t{}/*", max_size=300)


@given(CODE, st.sampled_from(["python", "c", "cuda", "javascript", "julia", "rust", "none such"]))
def test_every_line_is_there_and_says_what_it_said(text: str, language: str) -> None:
    plain = text.rstrip("\n").split("\n")
    shown = highlighted(text, language)
    assert [html.unescape(re.sub("<[^>]*>", "", each)).rstrip() for each in shown] == [line.rstrip() for line in plain]


def test_a_text_over_several_lines_keeps_its_colour() -> None:
    first, second = highlighted('"""one\ntwo"""\n', "python")
    assert "class=" in first
    assert "class=" in second


@pytest.mark.parametrize("text", ["x = 1\n" * LARGEST, "x" * (LONGEST_LINE + 1)])
def test_what_is_too_much_has_no_colours(text: str) -> None:
    assert "class=" not in "".join(highlighted(text, "python"))


def test_marks_and_notes_are_at_their_lines() -> None:
    first, second = lines("a\nb", "python", 7, {8: "focus"}, {8: ["0 became 1"]})
    assert (first.number, first.marks, first.notes) == (7, "", ())
    assert (second.number, second.marks, second.notes) == (8, "focus", ("0 became 1",))


def test_code_goes_on_after_many_blank_lines() -> None:
    shown = highlighted("x = 1" + "\n" * (3 * BLANK_LINES) + "y = 2", "c")
    assert len(shown) == 3 * BLANK_LINES + 1
    assert "class=" in shown[-1]
