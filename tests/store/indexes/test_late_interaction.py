"""Checks that late interaction returns the scores that its definition gives, for arbitrary bits."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.embeddings.base import EncodedText
from xkg.store.indexes.late_interaction import interaction, name_coverage
from xkg.store.indexes.text import query_terms

WIDTH = 3
CODE = st.binary(min_size=WIDTH, max_size=WIDTH)
WORDS = ("replay", "buffer", "the", "loss")


def reading(codes: Sequence[bytes]) -> EncodedText:
    table = np.frombuffer(b"".join(codes), np.uint8).reshape(-1, WIDTH)
    return EncodedText(np.ones(WIDTH * 8, np.float32), WORDS[: len(codes)], table)


def by_length(terms: Sequence[str]) -> Mapping[str, float]:
    return {term: len(term) / 10 for term in terms}


def same(first: bytes, second: bytes) -> float:
    differing = sum((a ^ b).bit_count() for a, b in zip(first, second, strict=True))
    return 1 - 2 * differing / (8 * WIDTH)


@given(st.lists(CODE, max_size=4), st.dictionaries(st.sampled_from("abc"), st.lists(CODE, max_size=3), max_size=3))
def test_each_word_meets_the_nearest_of_a_text(query: list[bytes], texts: dict[str, list[bytes]]) -> None:
    found = interaction(reading(query), {name: b"".join(codes) for name, codes in texts.items()}, by_length)
    weights = [max(by_length(query_terms(word)).values(), default=0) for word in WORDS[: len(query)]]
    if not sum(weights):
        assert found == {}
        return
    assert found.keys() == {name for name, codes in texts.items() if codes}
    for name, value in found.items():
        nearest = [max(same(code, own) for own in texts[name]) for code in query]
        wanted = sum(w * n for w, n in zip(weights, nearest, strict=True)) / sum(weights)
        assert value == pytest.approx(wanted)


def test_a_name_is_covered_by_the_words_of_a_query_that_are_nearest_to_its_words() -> None:
    zeros, ones, half = b"\x00\x00\x00", b"\xff\xff\xff", b"\x00\x00\x0f"
    texts = {"a": ones + zeros + half, "other model": b"abcd", "nameless": zeros}
    names = {"a": "Replay replay-Buffer", "other model": "Buffer", "nameless": "…"}
    found = name_coverage(reading([zeros, half]), texts, names)
    assert found == {"a": pytest.approx((((1 - 2 * 20 / 24) + 1) / 2, 1 - 2 * 20 / 24))}
