import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evaluation.construction.hierarchy import read_hierarchies

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "weight", "aliases", "components", "techniques", "paper"]), inner)
    ),
    max_leaves=20,
)


def written(folder: Path, value: object) -> Path:
    (folder / "gold.json").write_text(json.dumps(value))
    return folder / "gold.json"


def test_a_hierarchy_as_a_walk(tmp_path: Path) -> None:
    value = {
        "paper": "title:p",
        "techniques": [
            {"name": "Top", "weight": 2, "components": [{"name": " Part ", "aliases": ["P"]}]},
            {"name": "Other"},
        ],
    }
    (paper,), problems = read_hierarchies(written(tmp_path, value))
    assert problems == []
    assert [(t.path, t.weight, t.aliases) for t in paper.techniques] == [
        (("Top",), 2, ()),
        (("Top", "Part"), 1, ("P",)),
        (("Other",), 1, ()),
    ]


def test_malformed_parts_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    value = [
        {"techniques": []},
        {
            "paper": "p",
            "techniques": [
                {"name": ""},
                {"name": "A", "weight": -1},
                {"name": "B", "weight": True},
                {"name": "C", "aliases": "c"},
                "D",
                {"name": "E", "components": [{"nom": "F"}, {"name": "G"}]},
            ],
        },
    ]
    (paper,), problems = read_hierarchies(written(tmp_path, value))
    assert [t.name for t in paper.techniques] == ["E", "G"]
    assert len(problems) == 7


@given(JSON)
def test_any_json_is_read_or_counted(tmp_path_factory, value) -> None:
    found, problems = read_hierarchies(written(tmp_path_factory.mktemp("gold"), value))
    assert found or problems or value == []
