import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from xkg.web.rendering.formulas import flowing, formulas, inline_formulas, mathml

KNOWN = {"p", "code", "span", "div", "var", "sub", "sup"}


@pytest.mark.parametrize(
    "tex",
    [
        r"\hat{\phi}^{*}(x) = \frac{1}{n} \sum_{j=1}^{n} k(x_{j}, x)",
        r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
        r"\mathbb{E}_{x \sim p}[\|x\|_2^2]",
    ],
)
def test_what_papers_write_becomes_mathml(tex: str) -> None:
    assert "<math" in mathml(tex)[:40]


@pytest.mark.parametrize(
    "tex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\unknowncommand{x}",
        r"\left(" * 100,
        "x" * 5000,
    ],
)
def test_what_cannot_be_shown_is_shown_as_it_is_written(tex: str) -> None:
    shown = mathml(tex)
    assert shown.startswith('<code class="tex">')
    assert "<script" not in shown
    assert "<img" not in shown


def test_links_in_formulas_lead_nowhere() -> None:
    assert "javascript" not in str(mathml(r"\href{javascript:alert(1)}{y}")).replace('alttext="', "").split(">", 1)[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sets `n_steps` once", "sets <code>n_steps</code> once"),
        ("from p_T on", '<span class="math"><var>p</var><sub>T</sub></span>'),
        ("∇_{x_t} f", "<var>∇</var><sub>x<sub>t</sub></sub>"),
        ("v_i^ℓ", "<sub>i</sub><sup>ℓ</sup>"),
        (r"G d\bar{w}", "<mover>"),
    ],
)
def test_code_and_scripts_without_dollars_are_shown_as_such(text: str, shown: str) -> None:
    assert shown in inline_formulas(text)


@pytest.mark.parametrize(
    "text",
    ["expert_score of file_name.py", "``quoted\u2019\u2019", "x_train=3", "it costs $5 and then $6 more"],
)
def test_names_are_no_formulas(text: str) -> None:
    assert inline_formulas(text) == text


def test_lines_of_a_paragraph_are_one_and_items_keep_theirs() -> None:
    assert flowing("One\nline.\n\n1. first\n2. second") == "<p>One line.</p><p>1. first\n2. second</p>"


def test_blank_lines_end_paragraphs() -> None:
    assert formulas("one\n\n\ntwo") == "<p>one</p><p>two</p>"


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"]))
    | st.from_regex(r"[$\\(){}<>a&x^_\[\]]{0,40}")
)
def test_any_text_is_escaped(text: str) -> None:
    for element in html.fragment_fromstring(str(formulas(text)), create_parent="div").iter():
        assert isinstance(element.tag, str)
        tag = element.tag.rpartition("}")[2]
        assert (
            tag in KNOWN or tag == "math" or any(str(above.tag).endswith("math") for above in element.iterancestors())
        )
        assert not any(name.startswith("on") or name in ("href", "src", "style") for name in element.attrib)
