"""Tests sketches, which measure how similar two function bodies are, regardless of their layout."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.code.fingerprint import fingerprinted, similarity
from xkg.build.code.languages.python import analyse

ATTENTION = """\
def attend(queries, keys, values, mask=None):
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = softmax(scores, axis=-1)
    return weights @ values, weights
"""


def sketch(text: str, name: str = "attend") -> str:
    module = fingerprinted(analyse("a.py", text).module)
    return next(s.symbol.fingerprint for s in module.symbols if s.symbol.qualified_name == name)


def test_comments_docstrings_and_layout_do_not_count() -> None:
    other = ATTENTION.replace(
        "    scores = q", '    """Scaled\n    dot products."""\n\n    # over all keys\n    scores   =  q'
    )
    assert sketch(other) == sketch(ATTENTION)
    assert len(sketch(ATTENTION)) == 64


def test_a_body_too_short_to_tell_has_none() -> None:
    assert sketch("def attend(x):\n    return x\n") == ""
    assert sketch("", "") == ""
    assert sketch(f"WEIGHTS = [{', '.join(map(str, range(30)))}]\n", "WEIGHTS") == ""


def test_a_comment_of_another_language_is_no_token() -> None:
    module = analyse("a.c", ATTENTION).module
    slashes = module.model_copy(update={"language": "c", "text": ATTENTION.replace("\n", " // é\n")})
    plain = module.model_copy(update={"language": "c"})
    sketches = [[s.symbol.fingerprint for s in fingerprinted(m).symbols] for m in (slashes, plain)]
    assert sketches[0] == sketches[1]


@given(st.text() | st.text(alphabet="\"'#/*\\\n abc()=1"))
def test_any_text_can_be_sketched(text: str) -> None:
    for symbol in fingerprinted(analyse("a.py", text).module).symbols:
        made = symbol.symbol.fingerprint
        assert made == "" or (len(made) == 64 and similarity(made, made) == pytest.approx(1.0))
