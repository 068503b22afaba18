"""Tests the functions that every embedding model shares."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings.base import EncodedText, Text, encode, encode_documents, word_sums


class Wordless:
    model = "lengths"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1, len(text)] for text in texts], np.float32).reshape(len(texts), 2)


class Wordy(Wordless):
    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        one = np.array([[7]], np.uint8)
        return [EncodedText(vector, (text,), one) for text, vector in zip(texts, self.embed(texts), strict=True)]


def test_a_model_of_whole_texts_alone_gives_no_words() -> None:
    (reading,) = encode(Wordless(), ["ab"])
    assert reading.vector.tolist() == [1, 2]
    assert reading.words == ()
    found = encode_documents(Wordless(), ["ab", "c"])
    assert found.vectors.tolist() == [[1, 2], [1, 1]]
    assert found.codes == [b"", b""]


def test_a_model_of_words_gives_both() -> None:
    assert encode(Wordy(), ["ab"])[0].words == ("ab",)
    found = encode_documents(Wordy(), ["ab", "c"])
    assert found.vectors.tolist() == [[1, 2], [1, 1]]
    assert found.codes == [b"\x07", b"\x07"]
    assert encode_documents(Wordy(), []).vectors.shape == (0, 2)


def test_a_word_in_pieces_and_in_several_places_is_one() -> None:
    text = "Un-do undo"
    hidden = np.array([[9] * 8, [1] * 8, [0] * 8, [-3] * 8, [5] * 8, [-9] * 8], np.float32)
    found = word_sums(text, hidden, [None, 0, 1, 2, 3, None], [(0, 0), (0, 2), (2, 3), (3, 5), (6, 10), (0, 0)])
    assert found.words == ("un", "do", "undo")
    assert found.codes.tolist() == [[255], [0], [255]]
    found = word_sums("undo undo", hidden, [None, 0, 0, 1, 1, None], [(0, 0), (0, 2), (2, 4), (5, 7), (7, 9), (0, 0)])
    assert found.words == ("undo",)
    assert found.codes.tolist() == [[255]]


def test_words_that_say_what_a_text_belongs_to_are_not_its_own() -> None:
    hidden = np.array([[-1] * 8, [1] * 8, [1] * 8], np.float32)
    spans = [(0, 4), (5, 8), (9, 13)]
    found = word_sums(Text("loss EWC loss", 5, 8), hidden, [0, 1, 2], spans)
    assert found.words == ("loss",)
    assert found.codes.tolist() == [[0]]
    found = word_sums(Text("loss EWC loss", 0, 8), hidden, [0, 1, 2], spans)
    assert found.words == ("loss",)
    assert found.codes.tolist() == [[255]]
