import pytest

from xkg.build.grounding.index.identifier_words import (
    Vocabulary,
    content_stems,
    initials,
    stems,
    words,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BaM", ["bam"]),
        ("LoRALayer", ["lora", "layer"]),
        ("run_f1", ["run", "f1"]),
        ("GPT2", ["gpt", "gpt2"]),
        ("BBoxHead", ["bbox", "box", "head"]),
        ("rgb_to_YCbCr", ["rgb", "to", "ycbcr"]),
        ("a x_ 2024", []),
        ("Näherung der Größe", ["näherung", "der", "größe"]),
    ],
)
def test_words_of_identifiers_and_prose(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("prose", "code"),
    [("regularization", "Regularizer"), ("factorizing rewards", "factorized_reward"), ("decoding", "decode")],
)
def test_inflection_is_forgotten(prose: str, code: str) -> None:
    assert stems(prose) == stems(code)


def test_content_leaves_out_what_every_paper_says() -> None:
    assert content_stems("We propose a novel method that uses the step of the kernel") == ["kernel"]


def test_initials_with_and_without_little_words() -> None:
    assert initials("batch and match") == {"bam", "bm"}
    assert initials("Direct Preference Optimization") == {"dpo"}
    assert initials("kernel") == set()


@pytest.mark.parametrize(
    ("word", "name"),
    [("initi", "init"), ("control", "ctrl"), ("regular", "reg"), ("patchif", "patchifi"), ("predict", "pred")],
)
def test_names_shorten_words(word: str, name: str) -> None:
    assert 0 < Vocabulary([name]).related(word)[name] < 1


@pytest.mark.parametrize(
    ("word", "name"), [("index", "in"), ("regular", "rag"), ("loss", "lossless"), ("rate", "ratio")]
)
def test_other_words_are_not_taken_for_short_ones(word: str, name: str) -> None:
    assert Vocabulary([name]).related(word) == {}
