import pytest

from xkg.build.curation.ownership import PaperIdentity, judge
from xkg.build.sources.github import RepositoryFacts

PAPER = PaperIdentity("Moon Kernels for Neighbour Weighing", ("Cal Luna", "Di Tide"), "1905.00002", "2019-05-01")
CITE = "@article{luna,\n title={Moon Kernels for Neighbour Weighing},\n author={Luna, Cal},\n}"


def facts(readme: str, name: str = "someone/code", **more: object) -> RepositoryFacts:
    known: dict[str, object] = {"created": "2019-06-01", "commit": "c" * 40, "size_kb": 100, **more}
    return RepositoryFacts(url=f"https://github.com/{name}", full_name=name, readme=readme, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "repository",
    [
        facts("# Moon Kernels for Neighbour Weighing\nOfficial code."),
        facts(f"# MK\nCode for our paper [Moon Kernels for Neighbour Weighing](https://arxiv.org/abs/1905.00002)\n{CITE}"),
        facts("# mk\nhttps://arxiv.org/abs/1905.00002 of our work", "cluna/mk"),
        facts(f"# mk\nMoon Kernels for Neighbour Weighing\n{CITE}", created="2019-04-20"),
    ],
)  # fmt: skip
def test_a_paper_s_own(repository: RepositoryFacts) -> None:
    verdict = judge(repository, PAPER)
    assert verdict.official is True, verdict
    assert verdict.evidence


@pytest.mark.parametrize(
    ("repository", "because"),
    [
        (facts("# Unofficial moon kernels\nMoon Kernels for Neighbour Weighing, arxiv.org/abs/1905.00002"), "copy"),
        (facts("# Awesome kernels\n- Moon Kernels for Neighbour Weighing"), "many papers"),
        (facts("# Official code of our paper on pasta", "cluna/pasta"), ""),
        (facts("", commit=None, size_kb=0), "it is empty"),
        (facts("# mk\nMoon Kernels for Neighbour Weighing", source="cluna/mk"), "a fork of cluna/mk"),
    ],
)
def test_not_its_own(repository: RepositoryFacts, because: str) -> None:
    verdict = judge(repository, PAPER)
    assert verdict.official is False
    assert because in " ".join(verdict.evidence)


def test_a_good_implementation_by_others_stays_open() -> None:
    verdict = judge(
        facts(f"# Kernels in PyTorch\nImplementation of Moon Kernels, arxiv.org/abs/1905.00002\n{CITE}"), PAPER
    )
    assert verdict.official is not True


def test_the_paper_s_own_words_count_most() -> None:
    verdict = judge(facts("no words"), PAPER, "own")
    assert verdict.official is True
    assert judge(facts("no words"), PAPER, "named").official is not True
