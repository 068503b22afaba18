import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.graphs import REPOSITORY, a_paper
from xkg.errors import CorruptStoreError, InputError
from xkg.model import Code, Finding, Paper, PaperBundle, Reference, Technique
from xkg.store import bundles

ANY_TEXT = st.text(st.characters(codec=None), max_size=20)


@st.composite
def any_bundle(draw: st.DrawFn) -> PaperBundle:
    """Generates consistent bundles. Ids and all other values may contain any text that Python supports."""
    paper = draw(ANY_TEXT.map(lambda t: "title:" + t.replace("#", "")))
    techniques: list[Technique] = []
    for n in range(draw(st.integers(0, 4))):
        parents = [t.id for t in techniques if t.hidden is None]
        techniques.append(
            Technique(
                id=f"{paper}#{n}{draw(ANY_TEXT)}",
                name=draw(ANY_TEXT),
                parent=draw(st.sampled_from([None, *parents])),
                aliases=tuple(draw(st.lists(ANY_TEXT, max_size=3))),
                definition=draw(ANY_TEXT),
                weight=draw(st.floats(allow_nan=False, allow_infinity=False)),
                hidden=draw(st.none() | ANY_TEXT),
            )
        )
    claims = st.recursive(st.none() | st.booleans() | st.integers(-(2**60), 2**60) | ANY_TEXT, st.lists, max_leaves=4)
    code = [
        Code(
            id=f"{t.id}@{n}",
            technique=t.id,
            implementation=draw(ANY_TEXT),
            documentation=draw(ANY_TEXT),
            packages=tuple(draw(st.lists(ANY_TEXT, max_size=2))),
            claims=draw(st.dictionaries(ANY_TEXT, claims, max_size=2)),
        )
        for n, t in enumerate(techniques)
        if draw(st.booleans())
    ]
    references = st.builds(
        Reference, title=st.none() | ANY_TEXT, doi=st.none() | ANY_TEXT, year=st.none() | st.just(2020)
    )
    return PaperBundle(
        paper=Paper(
            id=paper,
            title=draw(ANY_TEXT),
            abstract=draw(ANY_TEXT),
            authors=tuple(draw(st.lists(ANY_TEXT, max_size=2))),
            origin=draw(st.sampled_from(["build", "import"])),
            references=draw(st.none() | st.lists(references, max_size=3).map(tuple)),
        ),
        techniques=tuple(techniques),
        code=tuple(code),
        findings=tuple(
            Finding(id=f"{paper}#finding/{n}", name=draw(ANY_TEXT), description=draw(st.none() | ANY_TEXT))
            for n in range(draw(st.integers(0, 2)))
        ),
    )


@given(any_bundle())
@settings(max_examples=30)
def test_any_bundle_comes_back_from_its_bytes(bundle: PaperBundle) -> None:
    data = bundles.serialise(bundle)
    assert bundles.parse(data, Path("x.json")) == bundle
    assert json.loads(data)["bundle"]["paper"]["id"] == bundle.paper.id


@given(st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject) -> None:
    written = bytearray(bundles.serialise(a_paper()))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptStoreError):
        bundles.parse(bytes(written), Path("x.json"))


def test_names_are_readable_and_differ_where_ids_or_contents_do(tmp_path: Path) -> None:
    first, again, other = (bundles.write(tmp_path, b) for b in (a_paper(), a_paper(), a_paper(note="new")))
    assert first == again
    assert first.name.startswith("arxiv-2101.00001-")
    assert other.name != first.name
    strange = PaperBundle(paper=Paper(id="title:../../é/\0" + "x" * 300, title="", origin="import"))
    assert bundles.read(tmp_path / bundles.write(tmp_path, strange).name) == strange
    assert len(list(tmp_path.iterdir())) == 3


TECHNIQUE = a_paper().techniques[0]


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"techniques": (TECHNIQUE, TECHNIQUE)}, "twice"),
        ({"techniques": ()}, "referenced but not in the bundle"),
        ({"techniques": a_paper().techniques[::-1]}, "before its parent"),
        ({"techniques": (TECHNIQUE.model_copy(update={"hidden": "no code"}), *a_paper().techniques[1:])}, "hidden"),
        ({"symbols": ()}, "referenced but not in the bundle"),
        ({"repositories": (REPOSITORY, REPOSITORY)}, "twice"),
        ({"findings": (Finding(id="arxiv:1#finding/1", name=""),)}, "does not begin"),
        ({"paper": a_paper().paper.model_copy(update={"id": ""})}, "not be empty"),
    ],
)
def test_a_bundle_that_contradicts_itself_is_refused_in_one_line(change: dict[str, object], refusal: str) -> None:
    with pytest.raises(InputError, match=refusal) as caught:
        bundles.validate(a_paper().model_copy(update=change))
    assert "\n" not in str(caught.value)
