import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from xkg.build.code import fingerprint
from xkg.build.code.fingerprint import fingerprinted, similarity
from xkg.build.code.languages.python import analyse

RUNS = np.random.default_rng(1).integers(0, 2**63, size=9_000, dtype=np.uint64)
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


def test_an_edit_lowers_likeness_and_other_code_has_hardly_any() -> None:
    edited = ATTENTION.replace("keys.shape[-1] ** 0.5", "self.temperature")
    unrelated = """\
def attend(events):
    with open(events) as lines:
        names = [line.strip().split(",")[0] for line in lines if not line.startswith("#")]
    return sorted(set(names), key=str.casefold)
"""
    assert 0.4 < similarity(sketch(ATTENTION), sketch(edited)) < 1.0
    assert similarity(sketch(ATTENTION), sketch(unrelated)) < 0.2


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


@given(st.integers(0, 9_000), st.integers(0, 9_000))
def test_a_sketch_of_a_stretch_is_that_of_its_runs(first: int, end: int) -> None:
    assume(end - first >= 12)
    hashes = [fingerprint._mixed(RUNS[first:end] ^ seed) for seed in fingerprint._SEEDS]
    directly = "".join(f"{int(each.min()) % 16:x}" for each in hashes)
    assert fingerprint._sketches(RUNS, [(0, 20), (first, end), (0, 9_000)])[1] == directly
