import pytest

from xkg.text.titles import is_title


@pytest.mark.parametrize(
    "title",
    ["Adam", "t-SNE", "In-context learning", "In search of samples", "Advances in variational inference", "Σ-filters",
     "What size net gives valid generalization?", "Pages and volumes", "Volume rendering", "Proceedings in court"],
)  # fmt: skip
def test_titles(title: str) -> None:
    assert is_title(title)


@pytest.mark.parametrize(
    "fragment",
    ["", "PMLR", "In In", "In", "Advances", "Advances in Neural Information Processing Systems 30", "pages 31-62",
     "pp. 3", "volume 35", "Efficient optimization with gradient approxi-", "Neural networks for the", "URL https://a.b",
     "In Proceedings of the 3rd Conference on Filters", "https://example.org", "731.", "arXiv preprint arXiv:1"],
)  # fmt: skip
def test_fragments(fragment: str) -> None:
    assert not is_title(fragment)
