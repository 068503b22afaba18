import pytest

from xkg.fusion import reciprocal_rank_fusion, split_identifier


def test_scores_are_those_of_the_paper_and_ties_go_by_id() -> None:
    fused = reciprocal_rank_fusion([["b", "a"], ["a", "b"], ["c"]])
    assert fused == [("a", 1 / 61 + 1 / 62), ("b", 1 / 61 + 1 / 62), ("c", 1 / 61)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getHTTPCode_v2", ["get", "http", "code", "v", "2"]),
        ("log_σ²GrößeÄndern", ["log", "σ", "²", "größe", "ändern"]),
        ("naïve Schrödinger", ["naïve", "schrödinger"]),
        ("the low-rank update, W+BA.", ["the", "low", "rank", "update", "w", "ba"]),
        ("__", []),
    ],
)
def test_identifiers_and_prose_are_split_alike(text: str, words: list[str]) -> None:
    assert split_identifier(text) == words
