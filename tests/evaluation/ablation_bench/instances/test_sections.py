"""Cutting a paper by its sections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.ablation_bench.instances.sections import sections, shortened, until

CONVERTED = """\\section*{1. Introduction}
Bread.
\\section*{2. Method}
\\subsection*{2.1. Steam}
Pour.
\\section*{2.2. Stone}
Bake.
\\section*{3. Experiments}
Loaves.
\\section*{A. Proofs}
Rise.
"""


def test_the_level_is_that_of_the_number_where_there_is_one() -> None:
    assert [(s.title, s.level) for s in sections(CONVERTED)] == [
        ("Introduction", 1),
        ("Method", 1),
        ("Steam", 2),
        ("Stone", 2),
        ("Experiments", 1),
        ("Proofs", 1),
    ]


def test_a_paper_is_cut_before_a_section() -> None:
    cut = until(CONVERTED, "experiments")
    assert cut.endswith("Bake.\n")
    assert until("# Bread\nx\n## Tests\ny", "Tests") == "# Bread\nx\n"
    with pytest.raises(ValueError, match="there are Introduction"):
        until(CONVERTED, "Results")


def test_the_method_stays_longest_in_a_paper_that_ends_with_it() -> None:
    cut = "# Introduction\nBread.\n# Related Work\nOther bread.\n# Steam in Ovens\nPour.\n"
    assert shortened(cut, 60)[1] == ("Related Work",)
    assert shortened(cut, 30) == ("# Steam in Ovens\nPour.\n", ("Related Work", "Introduction"))
    assert shortened(cut, 20) == (
        "# Steam in Ovens\nPou",
        ("Related Work", "Introduction", "the end of Steam in Ovens"),
    )


@given(st.text(max_size=400), st.integers(1, 500))
def test_no_text_is_longer_than_asked_and_a_short_one_is_whole(text: str, characters: int) -> None:
    shown, left_out = shortened(text, characters)
    assert len(shown) <= characters
    assert (shown == text) == (not left_out) or len(text) <= characters
