import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.model import (
    LONGEST_NAME,
    Code,
    Evidence,
    Finding,
    Level,
    Paper,
    PaperBundle,
    Technique,
    paper_id,
    slug,
    unique_slugs,
)

TEXT = st.text(max_size=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Low-Rank  Adaptation (LoRA)", "low-rank-adaptation-lora"),
        ("β-VAE: learning λ", "β-vae-learning-λ"),
        ("注意力 机制", "注意力-机制"),
        ("Größe_ß", "grösse-ss"),
        ("ﬁne‐tuning ²", "fine-tuning-2"),
        ("?!", "untitled"),
        ("", "untitled"),
    ],
)
def test_slugs_keep_letters_and_digits_of_every_script(text: str, expected: str) -> None:
    assert slug(text) == expected


@given(st.lists(st.sampled_from(["a", "a 2", "a-2-2", "A", "b", "", "?"]) | TEXT, max_size=12))
def test_siblings_never_share_a_slug_and_the_first_keeps_its_own(names: list[str]) -> None:
    made = unique_slugs(names)
    assert len(set(made)) == len(made) == len(names)
    if names:
        assert made[0] == slug(names[0])
    # A later name never changes the slug of an earlier one.
    assert unique_slugs(names[:-1]) == made[:-1]


@pytest.mark.parametrize(
    ("arxiv", "doi", "expected"),
    [
        ("2006.10726v3", None, "arxiv:2006.10726"),
        (" cs/0112017v1 ", "10.1/x", "arxiv:cs/0112017"),
        (None, " 10.1145/ABC.Def ", "doi:10.1145/abc.def"),
        (None, None, "title:a-title-of-2-parts"),
        ("", "", "title:a-title-of-2-parts"),
    ],
)
def test_a_paper_is_named_by_the_best_it_has(arxiv: str | None, doi: str | None, expected: str) -> None:
    assert paper_id("A Title, of 2 Parts", arxiv, doi) == expected


def test_a_name_of_a_megabyte_is_cut() -> None:
    long = "word " * 200_000
    paper = Paper(id="title:x", title=long, authors=(long,), origin="import")
    technique = Technique(id="title:x#t", name=long, aliases=(long,))
    finding = Finding(id="title:x#finding/1", name=long, description=long)
    for name in (paper.title, *paper.authors, technique.name, *technique.aliases, finding.name):
        assert len(name) == LONGEST_NAME
        assert name.endswith("…")
    assert finding.description == long
    assert len(slug(long)) <= LONGEST_NAME


def test_a_bundle_finds_children_in_order_and_code() -> None:
    techniques = [Technique(id="p#b", name="B"), Technique(id="p#b/z", name="Z", parent="p#b")]
    techniques += [Technique(id="p#b/a", name="A", parent="p#b"), Technique(id="p#a", name="A")]
    code = Code(id="p#b@1", technique="p#b", implementation="x = 1")
    bundle = PaperBundle(paper=Paper(id="p", title="P", origin="build"), techniques=tuple(techniques), code=(code,))
    assert [t.id for t in bundle.children(None)] == ["p#b", "p#a"]
    assert [t.name for t in bundle.children("p#b")] == ["Z", "A"]
    assert bundle.code_of("p#b") == code
    assert bundle.code_of("p#a") is None


def test_packages_are_named_with_the_distribution_and_version_that_the_code_ran_with() -> None:
    ran = Evidence(level=Level.IMPORTED, distributions={"ott": "ott-jax==0.2.6", "flax_nn": "Flax-NN==1.0"})
    code = Code(id="c", technique="t", implementation="", packages=("flax_nn", "ott", "wandb"), evidence=(ran,))
    assert code.versions == ("Flax-NN 1.0", "ott-jax 0.2.6 (import ott)", "wandb")
    assert code.model_copy(update={"evidence": ()}).versions == code.packages
