"""Tests the named queries: their headers, their parameters, and their rows on both engines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.neo4j_server import Neo4jServer
from tests.store.flows import (
    ADAM,
    AMORTISED,
    AMORTISED_FLOW,
    DRIFT,
    FLOW,
    FLOWS,
    GAUSSIAN,
    KERNEL,
    LINEAR,
    LOOSE,
    OFFICIAL,
    OTHER,
    STEP,
    SVGD,
    WARM,
    WARM_UP,
    ablations,
    bundles,
    code_of,
    decisions,
)
from tests.store.graphs import FakeHashEmbedder, open_store
from xkg.config import Settings, StoreSettings
from xkg.errors import InputError
from xkg.store.cypher import named_queries
from xkg.store.cypher.guard import guard
from xkg.store.cypher.named_queries import NamedQuery, bind, find, is_name, plain, prepare, queries
from xkg.store.cypher.tokens import tokenize
from xkg.store.local.store import EmbeddedStore
from xkg.store.neo4j.store import Neo4jStore

NAMES = [query.name for query in queries()]


def code(technique: str) -> str:
    return code_of(technique, bundles())


VALUES: Mapping[str, Mapping[str, str]] = {
    "ablation-targets": {"paper": FLOWS},
    "citation-paths": {"paper": WARM_UP, "other": SVGD},
    "citations": {"paper": FLOWS},
    "co-cited": {"paper": FLOWS},
    "code-at-level": {"level": "executed"},
    "code-from-file": {"path": "kernels.py"},
    "code-needing-package": {"package": "torch"},
    "component-tree": {"paper": FLOWS},
    "coupled-papers": {"paper": FLOWS},
    "concept-names": {"name": "rbf KERNEL"},
    "concept-paths": {"paper": AMORTISED, "other": WARM_UP},
    "find-paper": {"text": "STEIN"},
    "find-technique": {"text": "warm"},
    "findings-by-technique": {"paper": FLOWS},
    "findings-on-technique": {"technique": "rbf kernel"},
    "located-in-file": {"path": "train.py"},
    "shared-concepts": {"paper": AMORTISED, "other": FLOWS},
}
"""Maps each query to its required parameters."""

ROWS: Mapping[str, Sequence[Sequence[Any]]] = {
    "ablation-targets": [
        ["Particle step", STEP, 1, 0.8, False, [], "flows/train.py", 10, 15, "step", OFFICIAL.url, "aaa"],
        ["RBF kernel", KERNEL, 1, 0.9, False, [], "flows/kernels.py", 3, 8, "rbf", OFFICIAL.url, "aaa"],
        ["RBF kernel", KERNEL, 2, 0.4, True, [], "flows/train.py", 10, 15, "step", OFFICIAL.url, "aaa"],
    ],
    "citation-paths": [
        [2, f"{WARM_UP} -- {via} -- {SVGD}", f"Notes on warm-up -- {title} -- The paper {SVGD}"]
        for via, title in ((FLOWS, "Stochastic kernel flows"), (AMORTISED, "Amortised flows"))
    ],
    "citations": [
        [WARM_UP, "Notes on warm-up", 2024, "partial", "cited by"],
        [ADAM, f"The paper {ADAM}", None, "cited", "cites"],
        [SVGD, f"The paper {SVGD}", None, "cited", "cites"],
        [AMORTISED, "Amortised flows", 2023, "complete", "cites"],
    ],
    "co-cited": [
        [ADAM, f"The paper {ADAM}", "cited", 1],
        [AMORTISED, "Amortised flows", "complete", 1],
    ],
    "code-by-level": [
        ["faithful", "python", 1, 1],
        ["tested", "python", 1, 1],
        ["executed", "python", 2, 2],
        ["parsed", "python", 1, 1],
    ],
    "code-elsewhere": [["Warm-up", WARM, "Stochastic kernel flows", "Notes on warm-up", "parsed", code(LINEAR)]],
    "component-tree": [
        ["001", 0, "Kernel flow", FLOW, "methodology", 0, "none", None],
        ["001.001", 1, "RBF kernel", KERNEL, "technique", 2, "tested", code(KERNEL)],
        ["001.002", 1, "Particle step", STEP, "technique", 1, "executed", code(STEP)],
        ["001.002.001", 2, "Warm-up", WARM, "technique", 0, "none", None],
    ],
    "concept-names": [
        ["Gaussian kernel", "name", GAUSSIAN, "Amortised flows"],
        ["RBF", "alias", KERNEL, "Stochastic kernel flows"],
        ["RBF kernel", "name", KERNEL, "Stochastic kernel flows"],
        ["RBF kernel", "alias", GAUSSIAN, "Amortised flows"],
        ["Radial basis function", "alias", KERNEL, "Stochastic kernel flows"],
    ],
    "concept-paths": [
        [
            *("Gaussian kernel", "Stochastic kernel flows", "RBF kernel", "Warm-up", "Linear warm-up"),
            *(GAUSSIAN, KERNEL, WARM, LINEAR),
        ]
    ],
    "costs-by-month": [["2026-09", 2, 1.75, 1.25], ["2026-10", 1, 0.25, 0.25]],
    "coupled-papers": [
        [AMORTISED, "Amortised flows", 2],
        [WARM_UP, "Notes on warm-up", 2],
    ],
    "entangled-symbols": [["flows/train.py", "step", 10, 15, 2, OFFICIAL.id]],
    "findings-by-technique": [
        ["Particle step", "Every particle step counts", None, STEP, f"{FLOWS}#finding/2"],
        ["RBF kernel", "Kernels", "The radial basis function wins.", KERNEL, f"{FLOWS}#finding/1"],
    ],
    "findings-on-technique": [
        ["Kernels", "The radial basis function wins.", f"{FLOWS}#finding/1", "Stochastic kernel flows"]
    ],
    "isolated-papers": [[LOOSE, "Éclats: loose ends", 1, 0]],
    "largest-hierarchies": [
        ["Kernel flow", FLOW, "Stochastic kernel flows", 4, 3, 2],
        ["Amortised flow", AMORTISED_FLOW, "Amortised flows", 2, 2, 2],
        ["Drift", DRIFT, "Éclats: loose ends", 1, 1, 0],
        ["Linear warm-up", LINEAR, "Notes on warm-up", 1, 1, 1],
    ],
    "licenses": [["MIT", 1, 1, 2], [None, 1, 1, 1]],
    "most-cited-works": [
        [ADAM, f"The paper {ADAM}", None, "1412.6980", 3],
        [SVGD, f"The paper {SVGD}", None, "1608.04471", 2],
    ],
    "most-reused-concepts": [
        ["Warm-up", WARM, 2, 2023, 2024, 2, 1],
        ["RBF kernel", KERNEL, 2, 2023, 2023, 2, 2],
    ],
    "packages": [["numpy", 2, 2, 2], ["torch", 2, 1, 2], ["Torch", 1, 1, 1]],
    "paper-coverage": [
        [FLOWS, "Stochastic kernel flows", "complete", 4, 2, 2, 2, 1, 0],
        [AMORTISED, "Amortised flows", "complete", 2, 0, 2, 2, 1, 1],
        [LOOSE, "Éclats: loose ends", "complete", 1, 0, 0, 0, 0, 0],
        [WARM_UP, "Notes on warm-up", "partial", 1, 0, 1, 0, 0, 0],
    ],
    "papers-by-year": [[2023, None, 2, 6, 4], [2024, None, 1, 1, 1], [None, None, 1, 1, 0]],
    "papers-without-tested-code": [
        [WARM_UP, "Notes on warm-up", 1, 1, 0],
        [LOOSE, "Éclats: loose ends", 1, 0, 0],
    ],
    "partial-papers": [
        [WARM_UP, "Notes on warm-up", "the budget is spent"],
        [WARM_UP, "Notes on warm-up", "two definitions are missing"],
    ],
    "repositories": [
        [OFFICIAL.id, OFFICIAL.url, "aaa", "MIT", True, 12, True, "trunk", "Stochastic kernel flows", 2, 2, 2],
        [OTHER.id, OTHER.url, "bbb", None, False, None, None, None, "Amortised flows", 1, 0, 1],
    ],
    "runnable-methods": [["Amortised flow", AMORTISED_FLOW, "Amortised flows", 2, 1]],
    "shared-techniques": [
        ["RBF kernel", 2, "Stochastic kernel flows", "RBF kernel", KERNEL, "tested", KERNEL],
        ["RBF kernel", 2, "Amortised flows", "Gaussian kernel", GAUSSIAN, "faithful", KERNEL],
        ["Warm-up", 2, "Stochastic kernel flows", "Warm-up", WARM, "none", WARM],
        ["Warm-up", 2, "Notes on warm-up", "Linear warm-up", LINEAR, "parsed", WARM],
    ],
    "spread-techniques": [["RBF kernel", KERNEL, "Stochastic kernel flows", OFFICIAL.id, 2, 2]],
    "techniques-without-code": [
        ["Kernel flow", FLOW, "Stochastic kernel flows", 1.0, 0, 2, 0],
        ["Drift", DRIFT, "Éclats: loose ends", 1.0, 0, 0, 0],
        ["Warm-up", WARM, "Stochastic kernel flows", 0.5, 1, 0, 0],
    ],
}
"""Maps queries to their expected rows. Queries without expected rows only need to succeed."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    store = open_store(tmp_path_factory.mktemp("flows") / "kg")
    store.publish(bundles())
    store.decide(decisions())
    store.add_ablations(ablations())
    yield store
    store.close()


def arguments(query: NamedQuery) -> dict[str, Any]:
    return dict(bind(query, VALUES.get(query.name, {})))


@pytest.mark.parametrize("name", NAMES)
def test_a_header_says_what_the_statement_takes(name: str) -> None:
    query = find(name)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert is_name(name)
    assert query.summary.endswith(".")
    declared = {parameter.name for parameter in query.parameters}
    given = re.findall(r" --param (\w+)=(\S+)", query.example)
    assert query.example == f"xkg cypher {name}" + "".join(f" --param {k}={v}" for k, v in given)
    assert bind(query, dict(given)).keys() == declared
    for statement in query.statements.values():
        guard(statement)
        tokens = tokenize(statement)
        assert {after.text for token, after in pairwise(tokens) if token.text == "$"} == declared


@pytest.mark.parametrize("name", NAMES)
def test_it_answers_on_the_embedded_store(store: EmbeddedStore, name: str) -> None:
    query = find(name)
    table = store.query(query.statements["embedded"], arguments(query))
    assert table.rows
    assert all(re.fullmatch(r"[a-z_]+", column) for column in table.columns)
    if name in ROWS:
        assert [list(row) for row in table.rows] == [list(row) for row in ROWS[name]]


@pytest.mark.parametrize(
    ("name", "values", "first"),
    [
        ("code-from-file", {"path": "train.py", "symbol": "step"}, "flows/train.py"),
        ("code-needing-package", {"package": "TORCH", "levels": "tested,faithful"}, "RBF kernel"),
        ("coupled-papers", {"paper": WARM_UP, "works": "2", "limit": "3"}, FLOWS),
        ("find-technique", {"text": "step size"}, "Warm-up"),
        ("findings-on-technique", {"technique": "is enough"}, "Linear warm-up is enough"),
        ("measured-importance", {"paper": FLOWS, "least": "0.6"}, "RBF kernel"),
        ("resources", {"text": "10,000"}, "Flow data set"),
        ("shared-concepts", {"paper": FLOWS, "other": WARM_UP}, "Warm-up"),
        ("techniques-without-code", {"paper": LOOSE}, "Drift"),
    ],
)
def test_values_choose_the_rows(store: EmbeddedStore, name: str, values: dict[str, str], first: str) -> None:
    query = find(name)
    rows = store.query(query.statements["embedded"], bind(query, values)).rows
    assert [row[0] for row in rows] == [first]


def test_rows_are_the_same_on_neo4j(store: EmbeddedStore, server: Neo4jServer, tmp_path: Path) -> None:
    settings = Settings(kg=tmp_path / "kg", store=StoreSettings(url=server.url))

    def embedder() -> FakeHashEmbedder:
        return FakeHashEmbedder(settings.embedding.vectors)

    with closing(Neo4jStore(settings, embedder)) as shared:
        shared.publish(bundles())
        shared.decide(decisions())
        shared.add_ablations(ablations())
    different = []
    with closing(Neo4jStore(settings, embedder)) as shared:
        for query in queries():
            here = store.query(query.statements["embedded"], arguments(query))
            there = shared.query(query.statements[named_queries.engine(settings.store)], arguments(query), seconds=60)
            if here != there:
                different.append(f"{query.name}\n{here}\n{there}")
    assert not different, "\n\n".join(different)


HEADER = """// What it answers.
//
// Group: papers
// Parameters:
//   paper: string -- which paper
//   limit: integer = 5 -- how many
//   share: number = 0.5 -- how much
//   strict: boolean = false -- how exact
//   levels: strings = ["tested", "faithful"] -- which levels
// Example: xkg cypher example --param paper=a

MATCH (p:Paper) RETURN p.id AS paper_id
"""


@pytest.fixture
def example(tmp_path: Path) -> NamedQuery:
    path = tmp_path / "example.cypher"
    path.write_text(HEADER)
    return named_queries.read(path)


def test_values_given_as_text_become_what_the_header_says(example: NamedQuery) -> None:
    assert bind(example, {"paper": "2301.1"}) == {
        "paper": "2301.1",
        "limit": 5,
        "share": 0.5,
        "strict": False,
        "levels": ("tested", "faithful"),
    }
    assert bind(example, {"paper": "null", "limit": "7", "share": "1", "strict": "True", "levels": "a, b"}) == {
        "paper": "null",
        "limit": 7,
        "share": 1.0,
        "strict": True,
        "levels": ("a", "b"),
    }
    assert bind(example, {"paper": "p", "levels": '["a,b"]'})["levels"] == ("a,b",)
    assert bind(example, {"paper": "p", "limit": 3.0, "levels": ["x"], "strict": True})["limit"] == 3


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "parameter paper is missing: example takes paper: string, limit: integer = 5"),
        ({"papr": "x", "paper": "y"}, 'unknown parameter "papr": example takes paper: string'),
        ({"paper": 5}, "parameter paper of example must be a string, not 5"),
        ({"paper": "x", "limit": "many"}, 'a whole number, not "many"'),
        ({"paper": "x", "limit": "1e400"}, "a whole number"),
        ({"paper": "x", "share": "NaN"}, "a number"),
        ({"paper": "x", "levels": []}, "a list of strings"),
    ],
)
def test_values_that_do_not_fit_are_refused_in_one_line(
    example: NamedQuery, values: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as refused:
        bind(example, values)
    assert "\n" not in str(refused.value)


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5)


@given(st.dictionaries(st.sampled_from(["paper", "limit", "share", "strict", "levels", "\n"]), _JSON))
def test_any_value_is_bound_or_refused(tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "example.cypher"
    path.write_text(HEADER)
    kinds = {"paper": str, "limit": int, "share": float, "strict": bool, "levels": tuple}
    refused = ""
    try:
        bound = bind(named_queries.read(path), values)
    except InputError as error:
        refused = str(error)
    assert "\n" not in refused
    assert refused or {name: type(value) for name, value in bound.items()} == kinds


def test_json_values_of_a_statement_are_typed() -> None:
    assert [plain(text) for text in ("2", "0.5", "true", "null", '["a"]', "a,b", '{"a": 1}', '"2"')] == [
        *(2, 0.5, True, None, ["a"], "a,b", '{"a": 1}', "2")
    ]


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"nearest: .*largest-hierarchies"):
        find("hierarchies")


@pytest.mark.parametrize(
    "text",
    [
        "```cypher\n{}\n```",
        "Here it is:\n~~~\n{}\n~~~\nThat is all.",
        "`{}`",
        "CYPHER: {}",
    ],
)
def test_a_statement_is_found_in_what_models_put_around_it(text: str) -> None:
    statement = "MATCH (t:`a b`) WHERE t.name = 'x'\nRETURN t"
    assert prepare(text.format(statement), {}, "embedded")[0].strip() == statement
