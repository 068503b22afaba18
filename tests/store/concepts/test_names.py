import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.store.concepts.names import is_short_form, names


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Low-Rank Adaptation (LoRA)", "low rank adaptation"),
        ("LoRA (Low-Rank Adaptation)", "Low-Rank Adaptations"),
        ("Layer normalisation", "Layer Normalization"),
        ("β-distribution guidance", "beta distribution guidance"),
        ("Elastic Weight Consolidation algorithm", "elastic weight consolidation"),
    ],
)
def test_one_concept_by_its_full_name(one: str, other: str) -> None:
    assert names(one).telling & names(other).telling


@pytest.mark.parametrize(
    ("one", "other"), [("Low-Rank Adaptation (LoRA)", "LoRA"), ("TD3+BC", "TD3 + BC"), ("Adam optimizer", "ADAM")]
)
def test_one_concept_by_a_short_name(one: str, other: str) -> None:
    first, second = names(one), names(other)
    assert (first.terse | first.telling) & (second.terse | second.telling)
    assert not first.conflict(second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("k-means clustering", "k-means++ clustering"),
        ("Forward diffusion (images)", "Forward diffusion (graphs)"),
        ("Double Q-learning", "Clipped Double Q-learning"),
        ("Adam", "AdamW"),
        ("Rainbow", "Rainbow*"),
    ],
)
def test_variants_have_names_of_their_own(one: str, other: str) -> None:
    first, second = names(one), names(other)
    assert not first.telling & second.telling
    assert not first.terse & second.terse


@pytest.mark.parametrize("name", ["Training", "Loss Function", "The Encoder", "Evaluation Method", "Stage 1", "", "++"])
def test_generic_names_tell_nothing(name: str) -> None:
    assert not names(name).telling | names(name).terse


@pytest.mark.parametrize(
    ("short", "long", "yes"),
    [
        ("RND", "Random Network Distillation", True),
        ("GPTs", "Generative Pre-trained Transformer", True),
        ("AffectGPT2", "Vocabulary Shifting", False),
        ("A", "Attention", False),
    ],
)
def test_short_forms(short: str, long: str, yes: bool) -> None:
    assert is_short_form(short, long) is yes


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_has_names_whatever_its_case_and_spaces(name: str, aliases: list[str]) -> None:
    found = names(name, aliases)
    assert found == names(f"  {name} ", aliases[::-1])
