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


def test_the_paper_s_own_words_count_most() -> None:
    verdict = judge(facts("no words"), PAPER, "own")
    assert verdict.official is True
    assert judge(facts("no words"), PAPER, "named").official is not True


def test_who_committed_shows_whose_it_is() -> None:
    about = facts(f"# Kernels\nMoon Kernels for Neighbour Weighing, arxiv.org/abs/1905.00002\n{CITE}")
    before = judge(about, PAPER)
    assert before.official is None
    assert before.wants_author
    by_author = judge(about.model_copy(update={"committers": ("somebody", "C. Luna")}), PAPER)
    assert by_author.official is True
    assert "the author Cal Luna has committed to it" in " ".join(by_author.evidence)
    other = judge(about.model_copy(update={"committers": ("Dee Luna", "luna", "Cal Moon")}), PAPER)
    assert other.official is None


def test_the_code_of_another_paper_that_links_this_one_is_not_its_own() -> None:
    other = CITE.replace("Moon Kernels for Neighbour Weighing", "Star Kernels for Planets")
    readme = "# Star kernels\nOfficial code of our paper, which uses arxiv.org/abs/1905.00002\n"
    assert judge(facts(f"{readme}{other}"), PAPER).official is not True
    joined = CITE.replace("Moon Kernels", "MoonKernels")
    assert judge(facts(f"# mk\nOur paper arxiv.org/abs/1905.00002\n{joined}"), PAPER).official is True


@pytest.mark.parametrize(
    ("name", "title", "fits"),
    [
        ("someone/real-tides", "RealTides: Measuring the Sea", True),
        ("someone/moon-kernels", "Moon Kernels for Neighbour Weighing", True),
        ("someone/moon", "Moon Kernels for Neighbour Weighing", False),
        ("someone/moon-kernels-torch", "Moon Kernels for Neighbour Weighing", False),
    ],
)
def test_a_name_of_the_method(name: str, title: str, fits: bool) -> None:
    evidence = judge(facts("words", name), PAPER._replace(title=title)).evidence
    assert any("named after the method" in line for line in evidence) is fits
