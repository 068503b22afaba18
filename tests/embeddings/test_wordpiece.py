"""Compares our tokenizer with the library that defines the format."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from xkg.embeddings.published_weights import installed
from xkg.embeddings.wordpiece import WordPiece

MOST = 24


def _definition() -> dict[str, Any]:
    folder = installed()
    assert folder is not None
    definition: dict[str, Any] = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return definition


@pytest.fixture(scope="module")
def ours() -> WordPiece:
    return WordPiece(_definition(), MOST)


@pytest.fixture(scope="module")
def library() -> Tokenizer:
    tokenizer = Tokenizer.from_str(json.dumps(_definition()))
    tokenizer.enable_truncation(MOST)
    tokenizer.no_padding()
    return tokenizer


def _same(ours: WordPiece, library: Tokenizer, text: str) -> bool:
    wanted, found = library.encode(text), ours.encode(text)
    return (found.ids, found.word_ids, found.offsets) == (wanted.ids, wanted.word_ids, wanted.offsets)


# The library has tables from an older version of Unicode, so newer marks and signs beyond these blocks are excluded.
_LETTERS = st.characters(max_codepoint=0x2DF, exclude_categories=["Cs"])
_ACCENTS = st.characters(min_codepoint=0x300, max_codepoint=0x36F)
_SCRIPTS = st.characters(min_codepoint=0x370, max_codepoint=0xD7A3, categories=["Lu", "Ll", "Lo", "Nd", "Zs", "Sm"])
_NAMES = st.sampled_from(["[MASK]", "[CLS]", "[UNK]", "[PAD]", "the", "embeddings", "straightforwardly", "x" * 101])


@given(pieces=st.lists(_NAMES | st.text(_LETTERS | _ACCENTS | _SCRIPTS, max_size=12), max_size=12))
def test_a_text_has_the_tokens_that_the_library_gives(ours: WordPiece, library: Tokenizer, pieces: list[str]) -> None:
    for separator in ("", " "):
        assert _same(ours, library, separator.join(pieces))


def test_every_letter_of_common_scripts_is_read_as_the_library_reads_it(ours: WordPiece, library: Tokenizer) -> None:
    texts = [f"a{chr(number)}b" for number in (*range(0x590), *range(0x2000, 0x2E00), *range(0x3000, 0xA000, 7))]
    assert [text for text in texts if not _same(ours, library, text)] == []


@pytest.mark.parametrize("change", [{"lowercase": False}, {"strip_accents": False}, {"handle_chinese_chars": False}])
def test_the_settings_of_a_model_are_followed(change: dict[str, bool]) -> None:
    definition = _definition()
    definition["normalizer"] |= change
    definition["truncation"] = definition["padding"] = None
    ours, library = WordPiece(definition, 512), Tokenizer.from_str(json.dumps(definition))
    for text in ("Résumé İstanbul", unicodedata.normalize("NFD", "Ångström"), "深度 learning 学习", "BERT"):
        assert _same(ours, library, text)


@pytest.mark.parametrize("part", ["model", "normalizer", "pre_tokenizer", "post_processor"])
def test_a_tokenizer_of_another_kind_is_refused(part: str) -> None:
    definition = _definition()
    definition[part] = definition[part] | {"type": "Other"}
    with pytest.raises(ValueError, match="it does not"):
        WordPiece(definition, 16)


def test_a_text_without_end_costs_no_more_than_its_limit(ours: WordPiece) -> None:
    assert len(ours.encode("word " * 100_000).ids) == MOST
