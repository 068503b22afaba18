"""Runs named queries and custom statements, and shows the results as a table, graph or CSV file."""

import csv
import io
import json
import re
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from xkg.errors import InputError, XkgError
from xkg.model import paper_of
from xkg.serve.answers.types import CypherAnswer
from xkg.store.cypher import named_queries
from xkg.store.cypher.named_queries import NamedQuery
from xkg.store.graph_store import PaperLine
from xkg.web.rendering.layout import Line, Node, arranged, joined, words_of
from xkg.web.site import PAGE, Site, integer, paged, shortened

ROWS = 1000
SHOWN = 100
NODES = 120
_LONGEST = 20_000
_PREFIX = "p."
_NODE = re.compile(r"\(:(\w+) \{(.*)\}\)")
_NAME = re.compile(r"[A-Za-z_]{3,}")
_KEYWORDS = (
    "AND AS ASC BY CASE collect CONTAINS count DESC DISTINCT ELSE END ENDS EXISTS LIMIT MATCH NOT NULL OPTIONAL OR "
    "ORDER RETURN SKIP STARTS THEN UNION UNWIND WHEN WHERE WITH"
)
_WIDTH, _HEIGHT = 900.0, 420.0


class Drawing(NamedTuple):
    """A drawing of the ids in a result. Ids in the same row are connected. `cut` is the number of ids that are not
    shown."""

    nodes: Sequence[Node]
    lines: Sequence[Line]
    cut: int
    height: float
    width: float = _WIDTH


class Cell(NamedTuple):
    """Shows a value of a result as text. If the value is a node with a page, `kind` is `paper` or `technique`, and `id`
    is the node's id."""

    text: str
    kind: str = ""
    id: str = ""
    number: bool = False


def show(site: Site, request: Request) -> Response:
    name, statement, values = _asked(request)
    query = _named(name)
    answer, error, seconds = None, "", 0.0
    ready = bool(statement) or (query is not None and (bool(values) or not _required(query)))
    if ready:
        started = time.perf_counter()
        try:
            answer = _run(site, query, statement, values)
        except XkgError as problem:
            error = str(problem)
        seconds = time.perf_counter() - started
    table, drawing = None, None
    if answer is not None:
        with site.service.snapshot() as snapshot:
            papers = site.service.paper_list(snapshot).by_id
        cells = [[_cell(value, papers) for value in row] for row in answer.rows]
        table = paged(cells, integer(request, "page", 1) or 1, SHOWN)
        drawing = _drawing(cells, papers)
    nodes, edges, words = _schema(site)
    return site.render(
        request,
        "cypher.html",
        400 if error else 200,
        groups=_groups(),
        nodes=nodes,
        edges=edges,
        words=words,
        named=query,
        statement=statement or (query.statements[named_queries.engine(site.settings.store)] if query else ""),
        own=bool(statement),
        values=values,
        answer=answer,
        table=table,
        drawing=drawing,
        error=error,
        seconds=seconds,
        address={key: value for key, value in request.query_params.items() if key not in ("page", "view")},
        view=request.query_params.get("view", "table"),
        parameters_text=request.query_params.get("parameters", ""),
    )


def csv_file(site: Site, request: Request) -> Response:
    """Returns all rows in the format of `xkg cypher --format csv`."""
    name, statement, values = _asked(request)
    answer = _run(site, _named(name), statement, values)
    out = io.StringIO()
    writer = csv.writer(out, dialect="unix", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(answer.columns)
    writer.writerows([_text(value) for value in row] for row in answer.rows)
    headers = {**PAGE, "content-disposition": f'attachment; filename="{name or "rows"}.csv"'}
    return Response(out.getvalue().encode("utf-8", "replace"), 200, headers, "text/csv; charset=utf-8")


def _run(site: Site, query: NamedQuery | None, statement: str, values: Mapping[str, Any]) -> CypherAnswer:
    if not statement and query is None:
        raise InputError("the statement is empty; choose a query, or write one")
    return site.service.cypher(statement or (query.name if query else ""), values, ROWS)


def _asked(request: Request) -> tuple[str, str, dict[str, Any]]:
    """Returns the request's query name, statement and parameters. Raises `InputError` if the parameters are not a JSON
    object."""
    asked = request.query_params
    statement = asked.get("statement", "").strip()[:_LONGEST]
    values: dict[str, Any] = {
        key.removeprefix(_PREFIX): value for key, value in asked.items() if key.startswith(_PREFIX) and value
    }
    if statement and (text := asked.get("parameters", "").strip()):
        try:
            own = json.loads(text[:_LONGEST])
        except ValueError:
            own = None
        if not isinstance(own, dict):
            raise InputError('parameters must be a JSON object, such as {"word": "kernel"}')
        values = own
    return asked.get("name", "").strip(), statement, values


def _named(name: str) -> NamedQuery | None:
    return named_queries.find(name) if name else None


def _required(query: NamedQuery) -> bool:
    return any(parameter.default is None for parameter in query.parameters)


def _groups() -> Mapping[str, Sequence[NamedQuery]]:
    found: dict[str, list[NamedQuery]] = {}
    for query in named_queries.queries():
        found.setdefault(query.group, []).append(query)
    return found


def _schema(site: Site) -> tuple[Sequence[tuple[str, str]], Sequence[str], Sequence[str]]:
    """Returns labels with their properties, edges as patterns, and words for completion."""
    patterns = site.service.schema(full=False).schema_text.replace("`", "").splitlines()
    nodes = [(match[1], match[2]) for match in map(_NODE.fullmatch, patterns) if match]
    words = sorted({*_NAME.findall(" ".join(patterns)), *_KEYWORDS.split()}, key=str.casefold)
    return nodes, [pattern for pattern in patterns if "-[" in pattern], words


def _cell(value: Any, papers: Mapping[str, PaperLine]) -> Cell:
    text = _text(value)
    if isinstance(value, str) and paper_of(value) in papers:
        technique = value.rpartition("@")[0] if "@" in value.rpartition("/")[2] and "#" in value else value
        return Cell(text, "technique" if "#" in technique else "paper", technique)
    return Cell(text, number=isinstance(value, (int, float)) and not isinstance(value, bool))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _drawing(rows: Sequence[Sequence[Cell]], papers: Mapping[str, PaperLine]) -> Drawing | None:
    """Returns the drawing, or None if no row contains two ids."""
    number: dict[str, int] = {}
    kinds: list[Cell] = []
    edges: set[tuple[int, int]] = set()
    left = set()
    for row in rows:
        ids = [cell for cell in row if cell.kind]
        for cell in ids:
            if cell.id not in number:
                if len(kinds) == NODES:
                    left.add(cell.id)
                    continue
                number[cell.id] = len(kinds)
                kinds.append(cell)
        known = [number[cell.id] for cell in ids if cell.id in number]
        edges |= {(a, b) for a, b in pairwise(known) if a != b}
    if not edges:
        return None
    nodes = []
    for cell in kinds:
        label = shortened((papers[cell.id].title if cell.kind == "paper" else "") or words_of(cell.id), 26)
        radius, colour = (9.0, 0) if cell.kind == "paper" else (6.0, 2)
        nodes.append(Node(cell.kind, cell.id, label, cell.id, radius, colour))
    height = min(max(200.0, 40.0 * len(kinds)), max(_HEIGHT, 13.0 * len(kinds)))
    nodes = arranged(nodes, [(a, b, 1.0) for a, b in edges], (_WIDTH, height))
    return Drawing(nodes, [joined(nodes, a, b, "cites") for a, b in sorted(edges)], len(left), height)
