import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.fusion import reciprocal_rank_fusion, split_identifier

RANKING = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
RANKINGS = st.lists(RANKING, max_size=4)


@given(RANKINGS)
def test_everything_that_was_ranked_is_there_once_best_first(rankings: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion(rankings)
    assert {item for item, _ in fused} == {item for ranking in rankings for item in ranking}
    assert len({item for item, _ in fused}) == len(fused)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(RANKINGS)
def test_better_in_every_ranking_is_better_in_all(rankings: list[list[str]]) -> None:
    order = {item: n for n, (item, _) in enumerate(reciprocal_rank_fusion(rankings))}
    for a in order:
        for b in order:
            if a != b and all(b not in r or (a in r and r.index(a) < r.index(b)) for r in rankings):
                assert order[a] < order[b]


def test_scores_are_those_of_the_paper_and_ties_go_by_id() -> None:
    fused = reciprocal_rank_fusion([["b", "a"], ["a", "b"], ["c"]])
    assert fused == [("a", 1 / 61 + 1 / 62), ("b", 1 / 61 + 1 / 62), ("c", 1 / 61)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getHTTPCode_v2", ["get", "http", "code", "v", "2"]),
        ("KLDivergence", ["kl", "divergence"]),
        ("log_σ²GrößeÄndern", ["log", "σ", "²", "größe", "ändern"]),
        ("naïve Schrödinger", ["naïve", "schrödinger"]),
        ("the low-rank update, W+BA.", ["the", "low", "rank", "update", "w", "ba"]),
        ("__", []),
    ],
)
def test_identifiers_and_prose_are_split_alike(text: str, words: list[str]) -> None:
    assert split_identifier(text) == words
