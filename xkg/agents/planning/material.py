"""Collects material from the graph for planning ablations: a paper's components and possible replacements."""

import contextlib
import re
from collections.abc import Sequence
from itertools import islice

from xkg.errors import QueryFailedError, QueryRefusedError
from xkg.model import Code, Technique, slug
from xkg.serve.answers.quoting import one_line
from xkg.serve.answers.types import NamedText, PaperAnswer, SearchRow, TechniqueAnswer, short
from xkg.serve.context.parts import uses
from xkg.serve.search.filters import Filters
from xkg.serve.service import Service
from xkg.value import Value

MOST_COMPONENTS = 60
MOST_ALTERNATIVES = 3
FITTING = 0.5
"""The minimum score (`SearchRow.score`) of a replacement technique. Above this score, most replacements are
suitable."""

_QUERY = 400
_NAME_WORDS = 12
_WORD = re.compile(r"[^\W_]++")
_MOST_TABLES = 200
_CAPTION = 160
"""The maximum length of a caption in characters."""
_TABLE = re.compile(
    r"^Table [A-Z0-9.]{1,5}[.:] .{8,600}$(?:\n\\begin\{tabular\}[^\0]{0,6000}?\\end\{tabular\}$)?", re.MULTILINE
)
"""Matches a table caption on its own line, in Markdown or PDF text, with the rows below it."""
_NUMBER = re.compile(r"[&|][^&|\n\w]{0,12}\d")
"""Matches a table cell that begins with a number. A table without such a cell, such as a table of examples, contains no
measurements."""


class Alternative(Value):
    """A technique from another paper that matches a component's definition but is not the same concept."""

    id: str
    name: str
    paper_title: str
    score: float


class Component(Value):
    """A component of the paper's method. `mentioned` is the fraction (0 to 1) of the component's name that appears as
    consecutive words in the abstract. `findings` are the names of findings that mention the component. `users` are the
    names of components (other than the parent) whose code contains the component's code. `siblings` counts the other
    parts of the parent, and `parts` counts the parts of the component itself. `place` is the score of the best stored
    lines, or 0 if no lines are stored. `tables` are the captions of tables that mention the component. `measured` is
    the largest relative change in ablations of this component or of the same concept in another paper, or None if there
    are none."""

    id: str
    name: str
    definition: str
    parent: str | None
    parent_name: str
    depth: int
    level: str
    siblings: int
    parts: int
    mentioned: float
    findings: tuple[str, ...]
    users: tuple[str, ...]
    place: float
    alternatives: tuple[Alternative, ...]
    tables: tuple[str, ...] = ()
    measured: float | None = None


class Material(Value):
    """A planner's input about a paper. `left_out` counts the components beyond the first `MOST_COMPONENTS`."""

    paper: str
    title: str
    abstract: str
    findings: tuple[NamedText, ...]
    components: tuple[Component, ...]
    left_out: int


def gather(service: Service, paper: str) -> Material:
    """Gathers the material for a paper (id or title). Omits a root technique with components, because it is the whole
    method. Raises `UnknownIdError` if the paper is unknown, and `StoreError` if the graph is empty."""
    answer = service.paper(paper, include_code=True, full=True)
    parents = _parents(answer)
    inner = set(parents.values())
    chosen = [line.id for line in answer.techniques if parents[line.id] or line.id not in inner]
    same = {pair.other for row in service.related(answer.id, 10).rows for pair in row.shared}
    users = _users(answer, parents)
    names = {line.id: one_line(line.name) for line in answer.techniques}
    tables = _tables(service, answer.id)
    measured = _measured(service, answer.id)
    components = []
    for technique in chosen[:MOST_COMPONENTS]:
        found = service.technique(technique, full=True)
        parent = parents[technique]
        components.append(
            Component(
                id=technique,
                name=names[technique],
                definition=one_line(found.definition),
                parent=parent,
                parent_name=names.get(parent or "", ""),
                depth=len(found.path) - 1,
                level=found.level,
                siblings=sum(above == parent for above in parents.values()) - 1,
                parts=len(found.component_ids),
                mentioned=_mentioned(found, answer.abstract),
                findings=tuple(f.name for f in answer.findings if _names(found, f"{f.name} {f.description or ''}")),
                users=tuple(names[user] for user in users.get(technique, ())),
                place=max((place.score or 0.0 for place in found.locations), default=0.0),
                alternatives=_alternatives(service, found, same),
                tables=tuple(caption for caption, text in tables.items() if _names(found, text)),
                measured=measured.get(technique),
            )
        )
    return Material(
        paper=answer.id,
        title=answer.title,
        abstract=answer.abstract,
        findings=answer.findings,
        components=tuple(components),
        left_out=max(0, len(chosen) - MOST_COMPONENTS),
    )


def _measured(service: Service, paper: str) -> dict[str, float]:
    """Returns measured changes by technique. Returns an empty dictionary if the graph contains no ablations or cannot
    be queried for them."""
    found: dict[str, float] = {}
    for query in _MEASURED_BEFORE:
        with contextlib.suppress(QueryFailedError, QueryRefusedError):
            for technique, change in service.cypher(query, {"paper": f"{paper}#"}, 1000).rows:
                if abs(change) >= abs(found.get(technique, 0.0)):
                    found[str(technique)] = float(change)
    return found


_MEASURED_BEFORE = tuple(
    f"MATCH {pattern} WHERE t.id STARTS WITH $paper RETURN t.id AS technique, a.change AS change"
    for pattern in (
        "(t:Technique)-[:ABLATED_IN]->(a:Ablation)",
        "(t:Technique)-[:SAME_CONCEPT]->(o:Technique)-[:ABLATED_IN]->(a:Ablation)",
        "(t:Technique)<-[:SAME_CONCEPT]-(o:Technique)-[:ABLATED_IN]->(a:Ablation)",
    )
)


def _tables(service: Service, paper: str) -> dict[str, str]:
    """Returns the tables in a paper that may contain measurements, by caption. Returns an empty dictionary if the
    paper's text is not on this machine."""
    from xkg.build.parsed_papers import parsed_paper

    with service.snapshot() as snapshot:
        document = parsed_paper(service.folder, snapshot.bundle(paper).paper)
    if document is None:
        return {}
    blocks = [aside.text for aside in document.asides if aside.kind == "table"]
    blocks += [match[0] for match in islice(_TABLE.finditer(document.text), _MOST_TABLES)]
    measuring = [block for block in blocks if "\n" not in block.strip() or _NUMBER.search(block)]
    return {short(one_line(block.strip().partition("\n")[0]), _CAPTION): block for block in measuring}


def _parents(answer: PaperAnswer) -> dict[str, str | None]:
    """Maps each technique's id to the id of its parent. The answer lists techniques in preorder, with depths."""
    above: list[str] = []
    parents: dict[str, str | None] = {}
    for line in answer.techniques:
        del above[line.depth :]
        parents[line.id] = above[-1] if above else None
        above.append(line.id)
    return parents


def _users(answer: PaperAnswer, parents: dict[str, str | None]) -> dict[str, list[str]]:
    techniques = [Technique(id=line.id, name=line.name, parent=parents[line.id]) for line in answer.techniques]
    code = {
        c.technique: Code(id=c.id, technique=c.technique, implementation=c.implementation)
        for c in answer.implementations
    }
    users: dict[str, list[str]] = {}
    for user, used in uses(techniques, code).items():
        for technique in used:
            if parents.get(technique) != user:
                users.setdefault(technique, []).append(user)
    return users


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _mentioned(technique: TechniqueAnswer, text: str) -> float:
    """Returns the fraction of a technique's name that occurs in the text as consecutive words. If the technique has
    several names, returns the largest fraction."""
    there = f" {' '.join(_words(text))} "
    return max(
        (_longest_run(words, there) / len(words) for words in map(_words, _called(technique)) if words), default=0
    )


def _longest_run(words: Sequence[str], there: str) -> int:
    words = words[:_NAME_WORDS]
    runs = ((start, end) for start in range(len(words)) for end in range(start + 1, len(words) + 1))
    return max((end - start for start, end in runs if f" {' '.join(words[start:end])} " in there), default=0)


def _names(technique: TechniqueAnswer, text: str) -> bool:
    return _mentioned(technique, text) == 1


def _called(technique: TechniqueAnswer) -> Sequence[str]:
    return (technique.name, *technique.aliases)


def _alternatives(service: Service, technique: TechniqueAnswer, same: set[str]) -> tuple[Alternative, ...]:
    query = f"{technique.name}: {technique.definition}"[:_QUERY]
    own = {slug(name) for name in _called(technique)}
    answer = service.search(query, MOST_ALTERNATIVES + 2, filters=Filters.of(exclude=(technique.paper,)))

    def other(row: SearchRow) -> bool:
        return row.score >= FITTING and row.id not in same and slug(row.name) not in own

    rows = [row for row in answer.rows if other(row)]
    return tuple(
        Alternative(id=row.id, name=one_line(row.name), paper_title=one_line(row.paper_title), score=row.score)
        for row in rows[:MOST_ALTERNATIVES]
    )
