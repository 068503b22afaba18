"""Checks that the peer's graph files survive a round trip, and that errors in them are named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.errors import InputError, UnsafeInputError
from xkg.model import Code, Evidence, Level, Paper, PaperBundle, Reference, Technique
from xkg.store import bundles
from xkg.store.peer_format import peer_bytes, read_peer, write_peer

FIXTURES = sorted((Path(__file__).parents[1] / "data" / "peer").glob("*.json"))


def check(source: str) -> Evidence:
    if "undefined_name" in source:
        return Evidence(level=Level.NONE, reason="undefined_name is not defined")
    return Evidence(level=Level.PARSED)


def stored(bundle: PaperBundle, path: Path) -> PaperBundle:
    """Returns the bundle as read back from its file in the store."""
    return bundles.parse(bundles.serialise(bundle), path)


def exact(value: Any) -> str:
    """Serializes a value, because values such as 1, 1.0 and true, or 0.0 and -0.0, are equal in Python. JSON also shows
    the order of keys."""
    return json.dumps(value)


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def graph(*techniques: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"paper_title": "Ridge Regression", "techniques": list(techniques), **more}


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_file_is_rebuilt_from_the_stored_bundle_alone(path: Path) -> None:
    bundle = stored(read_peer(path, check), path)
    original = json.loads(path.read_bytes())
    assert exact(write_peer(bundle)) == exact(original)
    assert exact(json.loads(peer_bytes(bundle))) == exact(original)
    bundles.validate(bundle)


def test_the_tree_and_its_code() -> None:
    bundle = read_peer(next(path for path in FIXTURES if path.stem == "running_medians"), check)
    paper = "title:running-medians-for-spiky-signals"
    assert [(t.id.removeprefix(paper), t.depth, t.kind, t.weight) for t in bundle.techniques] == [
        ("#compound-smoother", 0, "methodology", 1.0),
        ("#compound-smoother/running-median", 1, "technique", 0.6),
        ("#compound-smoother/running-median/end-rule", 2, "technique", 0.25),
        ("#compound-smoother/running-median/end-rule-2", 2, "technique", 1.0),
        ("#compound-smoother/hanning", 1, "technique", 0.4),
        ("#compound-smoother/running-median-2", 1, "technique", 0.0),
        ("#twicing", 0, "technique", 0.125),
    ]
    assert bundle.techniques[2].parent == bundle.techniques[1].id
    assert bundle.paper.origin == "import"
    assert bundle.paper.code_files[:2] == ("README.md", "medians/__init__.py")
    assert [f.name for f in bundle.findings] == ["Edges stay", "Finding", "", "no description", ""]
    assert [f.description for f in bundle.findings][1:] == ["Cost: linear in the width.", "no name", "", None]
    assert bundle.code_of(bundle.techniques[0].id) is None
    assert [c.claims for c in bundle.code] == [
        {"pass_exec": True},
        {"pass_exec": False},
        {},
        {"pass_exec": True},
        {"pass_exec": True},
    ]
    assert [c.level for c in bundle.code] == [Level.PARSED] * 4 + [Level.NONE]
    assert bundle.code[-1].evidence[0].reason == "undefined_name is not defined"
    assert len({c.id for c in bundle.code}) == 5


def test_a_claim_is_no_proof(tmp_path: Path) -> None:
    code = {"implementation": "x = 1", "test": "", "documentation": "", "package": [], "pass_exec": True}
    path = write(tmp_path / "a.json", graph({"name": "a", "code": code}))
    (its,) = read_peer(path, lambda _: Evidence(level=Level.TESTED)).code
    assert its.level is Level.PARSED


def test_papers_that_were_built_are_written_by_what_was_proven() -> None:
    def technique(name: str, **more: Any) -> Technique:
        return Technique(id=f"arxiv:1#{name}", name=name, **more)

    bundle = PaperBundle(
        paper=Paper(id="arxiv:1", title="T", origin="build", references=(Reference(title=None, text="A. Author"),)),
        techniques=(
            technique("a"),
            technique("b", hidden="no code"),
            technique("c", parent="arxiv:1#b"),
            technique("d", parent="arxiv:1#a"),
        ),
        code=(
            Code(id="1", technique="arxiv:1#a", implementation="a", level=Level.IMPORTED),
            Code(id="2", technique="arxiv:1#d", implementation="d", level=Level.EXECUTED),
        ),
    )
    written = write_peer(bundle)
    (a,) = written["techniques"]
    assert a["code"]["pass_exec"] is False
    assert [c["name"] for c in a["components"]] == ["d"]
    assert a["components"][0]["code"]["pass_exec"] is True
    assert written["paper_references"] == ["A. Author"]


TEXT = st.text(st.characters(), max_size=8) | st.sampled_from(["", "a: b", ": ", "x:\n", "a\nb\n", "\ud800", "e\u0301"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def shuffled(fields: dict[str, st.SearchStrategy[Any]], required: set[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Generates objects with the required fields, some of the others and additional keys, in any order."""
    optional = {key: value for key, value in fields.items() if key not in required}
    known = st.fixed_dictionaries({key: fields[key] for key in required}, optional=optional)
    extra = st.dictionaries(TEXT.filter(lambda key: key not in fields), JSON, max_size=2)
    return st.tuples(known, extra).flatmap(lambda two: st.permutations([*(two[0] | two[1]).items()]).map(dict))


def maybe(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | value


CODE = shuffled(
    {
        "implementation": TEXT,
        "test": maybe(TEXT),
        "documentation": maybe(TEXT),
        "package": maybe(st.lists(TEXT, max_size=2)),
        "pass_exec": maybe(st.booleans()),
    },
    {"implementation"},
)
WEIGHT = maybe(st.integers() | st.floats(allow_nan=False, allow_infinity=False))


def technique(components: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {"name": TEXT, "description": maybe(TEXT), "weight": WEIGHT, "code": maybe(CODE), "components": components}
    return shuffled(fields, {"name"})


TECHNIQUE = st.recursive(
    technique(maybe(st.just([]))), lambda inner: technique(maybe(st.lists(inner, max_size=3))), max_leaves=6
)
GRAPH = shuffled(
    {
        "paper_title": TEXT.filter(str.strip),
        "paper_abstract": maybe(TEXT),
        "paper_references": maybe(st.lists(TEXT, max_size=3)),
        "resources": maybe(st.lists(TEXT, max_size=3)),
        "findings": maybe(st.lists(TEXT, max_size=3)),
        "code_file": maybe(TEXT),
        "code_overview": maybe(TEXT),
        "techniques": maybe(st.lists(TECHNIQUE, max_size=3)),
    },
    {"paper_title"},
)


@given(file=GRAPH)
def test_any_graph_is_rebuilt(tmp_path_factory: pytest.TempPathFactory, file: dict[str, Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(file))
    original = json.loads(path.read_text())
    bundle = stored(read_peer(path, check), path)
    assert exact(json.loads(peer_bytes(bundle))) == exact(original)
    bundles.validate(bundle)


def nested(levels: int) -> str:
    return '{"paper_title": "Deep", "techniques": [' + '{"name": "a", "components": [' * levels + "]}" * levels + "]}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not complete JSON"),
        (b'{"paper_title": "caf\xe9"}', "not complete JSON"),
        (b"[]", "contains a list"),
        (b"{}", "paper_title is missing"),
        (b'{"paper_title": " \\n"}', "paper_title is empty"),
        (b'{"paper_title": "a", "paper_title": "b"}', "repeated key.*paper_title"),
        (b'{"paper_title": "a", "x": NaN}', "NaN"),
        (b'{"paper_title": "a", "x": 1e999}', "too large"),
        (b'{"paper_title": "a", "x": ' + b"9" * 5000 + b"}", "not complete JSON"),
        (b'{"paper_title": "a", "techniques": ["b"]}', r"techniques\[0\] is a string, not an object"),
        (b'{"paper_title": "a", "findings": [{}]}', r"findings\[0\] is an object, not a string"),
        (b'{"paper_title": "a", "paper_references": "b"}', "paper_references is a string, not a list"),
        (b'{"paper_title": "a", "techniques": [{"name": "b", "weight": "1"}]}', "weight is not a number"),
        (b'{"paper_title": "a", "techniques": [{"name": "b", "weight": 1' + b"0" * 400 + b"}]}", "weight is not"),
        (b'{"paper_title": "a", "techniques": [{"name": "b", "code": {}}]}', r"code\.implementation is missing"),
        (
            b'{"paper_title": "a", "techniques": [{"name": "b", "components": [{"name": "c"}, {"name": 3}]}]}',
            r"techniques\[0\]\.components\[1\]\.name is a number",
        ),
        (nested(10_000).encode(), "nested deeper than 200"),
        (b'{"paper_title": "a", "x": ' + b"[" * 100_000, "nested deeper than 200"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        read_peer(path, check)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(UnsafeInputError, match="50 MB"):
        read_peer(path, check)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read_peer(path, check)
