"""Splits text into word pieces for a BERT model, as defined by the model's `tokenizer.json`.

Devlin et al., NAACL 2019, and Wu et al., "Google's Neural Machine Translation System", arXiv:1609.08144, 2016. The
`tokenizers` library gives the same result (`tests/embeddings/test_wordpiece.py`), but also installs 33 MB of code for
downloading models."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

_CACHED_WORDS = 1 << 16
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)

Kind = Literal["letter", "space", "mark"]


class Pieces(NamedTuple):
    """The word pieces of a text. Token i has the vocabulary index `ids[i]` and belongs to word `word_ids[i]` in the
    text (None for special tokens). The token spans the characters from `offsets[i][0]` to `offsets[i][1]`."""

    ids: list[int]
    word_ids: list[int | None]
    offsets: list[tuple[int, int]]


class WordPiece:
    """A tokenizer that truncates texts at `max_tokens`. Raises `ValueError` if the definition is not for BERT, and
    `KeyError` or `TypeError` if it is broken. Safe to call from several threads."""

    def __init__(self, definition: Mapping[str, Any], max_tokens: int) -> None:
        model, normalizer = definition["model"], definition["normalizer"]
        if (model["type"], normalizer["type"], definition["pre_tokenizer"]["type"]) != (
            "WordPiece",
            "BertNormalizer",
            "BertPreTokenizer",
        ):
            raise ValueError("it does not split text the way BERT does")
        self._vocabulary: dict[str, int] = model["vocab"]
        self._prefix: str = model["continuing_subword_prefix"]
        self._longest: int = model["max_input_chars_per_word"]
        self._unknown = self._vocabulary[model["unk_token"]]
        self._first, self._last = _ends(definition["post_processor"])
        self._room = max(0, max_tokens - 2)
        lowercase = bool(normalizer["lowercase"])
        strip = normalizer["strip_accents"]
        self._characters = _Characters(
            clean=normalizer["clean_text"],
            spaced=normalizer["handle_chinese_chars"],
            stripped=lowercase if strip is None else strip,
            lowercase=lowercase,
        )
        self._added: dict[str, int] = {}
        for token in definition.get("added_tokens") or ():
            if token["normalized"] or token["lstrip"] or token["rstrip"] or token["single_word"]:
                raise ValueError("it has tokens of an unknown type")
            self._added[token["content"]] = token["id"]
        longest_first = sorted(self._added, key=len, reverse=True)
        self._names = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._words: dict[str, tuple[tuple[int, int], ...]] = {}

    def get_vocab(self) -> Mapping[str, int]:
        return {**self._vocabulary, **self._added}

    def encode(self, text: str) -> Pieces:
        pieces = Pieces([self._first], [None], [(0, 0)])
        for number, (word, places) in enumerate(self._split(text)):
            if len(pieces.ids) > self._room:
                break
            if word in self._added and len(places) == 1:
                found: tuple[tuple[int, int], ...] = ((self._added[word], 1),)
            else:
                found = self._words.get(word) or self._looked_up(word)
            start = 0
            for token, length in found:
                end = start + length
                pieces.ids.append(token)
                pieces.word_ids.append(number)
                pieces.offsets.append((places[start][0], places[end - 1][1]))
                start = end
        del pieces.ids[self._room + 1 :], pieces.word_ids[self._room + 1 :], pieces.offsets[self._room + 1 :]
        pieces.ids.append(self._last)
        pieces.word_ids.append(None)
        pieces.offsets.append((0, 0))
        return pieces

    def _split(self, text: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
        """Yields each normalised word with the spans of its characters in `text`. Added tokens are matched first and
        have a single span."""
        start = 0
        for name in self._names.finditer(text) if self._names else ():
            yield from self._split_plain(text, start, name.start())
            yield name[0], [name.span()]
            start = name.end()
        yield from self._split_plain(text, start, len(text))

    def _split_plain(self, text: str, start: int, end: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
        word: list[str] = []
        places: list[tuple[int, int]] = []
        characters = self._characters
        for place in range(start, end):
            for character, kind in characters[text[place]]:
                if kind == "letter":
                    word.append(character)
                    places.append((place, place + 1))
                    continue
                if word:
                    yield "".join(word), places
                    word, places = [], []
                if kind == "mark":
                    yield character, [(place, place + 1)]
        if word:
            yield "".join(word), places

    def _looked_up(self, word: str) -> tuple[tuple[int, int], ...]:
        """Returns the vocabulary index and length of each piece in a word. Pieces are matched longest first, from the
        left."""
        found = self._longest_pieces(word) if len(word) <= self._longest else None
        pieces = tuple(found) if found is not None else ((self._unknown, len(word)),)
        if len(self._words) < _CACHED_WORDS:
            self._words[word] = pieces
        return pieces

    def _longest_pieces(self, word: str) -> list[tuple[int, int]] | None:
        pieces = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                token = self._vocabulary.get((self._prefix if start else "") + word[start:end])
                if token is not None:
                    break
            else:
                return None
            pieces.append((token, end - start))
            start = end
        return pieces


def _ends(processor: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the tokens at the start and end of a text. Raises `ValueError` if the processor has a different form."""
    if processor["type"] == "BertProcessing":
        return processor["cls"][1], processor["sep"][1]
    match processor:
        case {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": first}}, {"Sequence": _}, {"SpecialToken": {"id": last}}],
            "special_tokens": known,
        }:
            (first_id,), (last_id,) = known[first]["ids"], known[last]["ids"]
            return first_id, last_id
    raise ValueError("it does not put one token before and one after a text")


class _Characters(dict[str, tuple[tuple[str, Kind], ...]]):
    """Caches each character's normalised form (BERT's cleaning, accents and case)."""

    def __init__(self, *, clean: bool, spaced: bool, stripped: bool, lowercase: bool) -> None:
        super().__init__()
        self._clean, self._spaced, self._stripped, self._lowercase = clean, spaced, stripped, lowercase

    def __missing__(self, character: str) -> tuple[tuple[str, Kind], ...]:
        became = self[character] = tuple((each, _kind(each)) for each in self._normalised(character))
        return became

    def _normalised(self, character: str) -> str:
        if self._clean:
            if character in "\t\n\r":
                return " "
            if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co"):
                return ""
            if character.isspace():
                return " "
        text = character
        if self._stripped:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        if self._lowercase:
            text = "".join(c.lower() for c in text)
        number = ord(character)
        if self._spaced and any(first <= number <= last for first, last in _IDEOGRAPHS):
            return f" {text} "
        return text


def _kind(character: str) -> Kind:
    if character.isspace():
        return "space"
    if character.isascii():
        return "letter" if character.isalnum() or not character.isprintable() else "mark"
    return "mark" if unicodedata.category(character)[0] == "P" else "letter"
