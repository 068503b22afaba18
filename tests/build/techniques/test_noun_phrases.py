"""Names that sentences propose, adopt or list."""

import pytest

from xkg.build.techniques.noun_phrases import terms


@pytest.mark.parametrize(
    ("sentence", "name", "how"),
    [
        ("We propose a tide based sampler for terns.", "tide based sampler", "propose"),
        ("We propose to use the approximate nest kernel as a proposal.", "approximate nest kernel", "propose"),
        ("A lightweight tide filter was developed for terns.", "tide filter", "propose"),
        ("We adapted Tidal Nest Sorting (TNS) as our order.", "Tidal Nest Sorting", "use"),
        (
            "It is composed of two modules: $f(x)$, a deep Shell Module (SM); $g$, an Egg Module (EM).",
            "Egg Module",
            "part",
        ),
    ],
)
def test_a_sentence_names(sentence: str, name: str, how: str) -> None:
    assert (name, how) in [(t.name, t.how) for t in terms(sentence)]


@pytest.mark.parametrize(
    "sentence",
    [
        "We propose an approach combining tides and nests.",
        "Layers of the network were developed by others.",
        "We propose a framework based on tides.",
    ],
)
def test_a_sentence_that_only_describes_names_nothing(sentence: str) -> None:
    assert list(terms(sentence)) == []
