"""Answers lookups of papers, techniques and code, and renders the schema and query results."""

import re
from collections.abc import Iterable, Sequence

from xkg.attestations.trust import vouchers
from xkg.errors import UnknownIdError
from xkg.model import Code, Departure, Evidence, Fidelity, Level, LineRange, PaperBundle, Symbol, Technique, paper_of
from xkg.serve.answers.references import code_id, is_code, paper_id, quoted, short_ids, technique_id
from xkg.serve.answers.types import (
    CodeAnswer,
    CypherAnswer,
    Mention,
    NamedText,
    PaperAnswer,
    Place,
    Relative,
    SchemaAnswer,
    SearchRow,
    TechniqueAnswer,
    TechniqueLine,
    short,
)
from xkg.store.cypher.suggestions import TABLE
from xkg.store.graph_store import Snapshot, Table, TechniqueView
from xkg.store.index_entries import entries, hidden_techniques
from xkg.text.plural import plural

SHORT_TEXT = 400
MOST_NAMED = 8
"""Maximum number of components without code listed in a search row."""
_MOST_PLACES = 5  # Maximum per technique. `locate` returns all places, including weak ones.


def paper_answer(snapshot: Snapshot, paper: str, *, include_code: bool = False, full: bool = False) -> PaperAnswer:
    """Answers a request for a paper. Raises `UnknownIdError`, which lists the nearest existing ids."""
    bundle = snapshot.bundle(paper_id(snapshot, paper))
    node = bundle.paper
    visible = [entry.technique for entry in entries(bundle)]
    code = {c.technique: c for c in bundle.code}
    with_code = [t for t in visible if t.id in code]
    cut = "code: call get_code with a technique's id, or pass include_code" if with_code and not include_code else ""
    answer = PaperAnswer(
        id=node.id,
        title=node.title,
        authors=node.authors,
        year=node.year,
        origin=node.origin,
        state=node.state,
        incomplete=node.incomplete,
        abstract=node.abstract,
        techniques=tuple(_line(t, code.get(t.id)) for t in visible),
        hidden=tuple(Mention(id=t.id, name=t.name, reason=t.hidden or "") for t in hidden_techniques(bundle)),
        repositories=tuple(f"{r.url}@{r.commit}" if r.url and r.commit else r.url or r.id for r in bundle.repositories),
        findings=tuple(NamedText(name=f.name, description=f.description) for f in bundle.findings),
        resources=tuple(NamedText(name=r.name, description=r.description) for r in bundle.resources),
        references=node.references,
        code_overview=node.code_overview,
        code_files=node.code_files,
        nothing_in=node.nothing_in,
        implementations=tuple(
            _code(code[t.id], t.name, bundle, full).model_copy(update={"notice": "", "cut": ""}) for t in with_code
        )
        if include_code
        else (),
        cut=cut,
    )
    if full:
        return answer
    brief, left_out = without_details(answer)
    left_out = [f"{len(answer.hidden)} hidden techniques"] * bool(answer.hidden) + left_out
    notes = [f"{', '.join(left_out)}: ask for the paper's id with detail='full'"] if left_out else []
    notes += [cut] if cut else []
    notes += ["tests and evidence: call get_code with detail='full'"] if include_code and code else []
    return brief.model_copy(update={"hidden": (), "cut": "; ".join(notes)})


def without_details(paper: PaperAnswer) -> tuple[PaperAnswer, list[str]]:
    """Removes references, files, code ids and descriptions from a full answer. Returns the answer and a list that
    describes what was removed."""
    left_out = {
        "references": paper.references,
        "code overview": paper.code_overview,
        "files of code": paper.code_files,
        "descriptions of findings and resources": paper.findings or paper.resources,
        "passages and functions without a technique": paper.nothing_in,
    }
    brief = {
        "techniques": tuple(each.model_copy(update={"code": None}) for each in paper.techniques),
        "findings": tuple(NamedText(name=f.name, description=None) for f in paper.findings),
        "resources": tuple(NamedText(name=r.name, description=None) for r in paper.resources),
        "references": None,
        "code_overview": "",
        "code_files": (),
        "nothing_in": (),
    }
    return paper.model_copy(update=brief), [name for name, there in left_out.items() if there]


def technique_answer(snapshot: Snapshot, technique: str, *, full: bool = False) -> TechniqueAnswer:
    """Answers a request for a technique. If the technique is hidden, the answer is always full. Raises
    `UnknownIdError`, which lists the nearest existing ids."""
    view = snapshot.technique(technique_id(snapshot, technique))
    node, bundle = view.technique, snapshot.bundle(paper_of(view.technique.id))
    code = bundle.code_of(node.id)
    full = full or node.hidden is not None
    more = "aliases, excerpts and full definitions of components: ask for the technique's id with detail='full'"
    return TechniqueAnswer(
        id=node.id,
        name=node.name,
        kind=node.kind,
        paper=bundle.paper.id,
        paper_title=bundle.paper.title,
        path=view.path,
        parent=node.parent,
        definition=node.definition,
        grounding=node.grounding,
        level=code.standing if code else "none",
        code=code.id if code else None,
        components=tuple(
            NamedText(name=t.name, description=t.definition if full else short(t.definition, 160))
            for t in view.children
        ),
        component_ids=tuple(t.id for t in view.children),
        without_code=view.without_code,
        hidden=node.hidden or "",
        locations=_places(bundle, node.id),
        aliases=node.aliases if full else (),
        excerpts=node.excerpts if full else (),
        cut="" if full or not (node.aliases or node.excerpts or view.children) else more,
    )


def _places(bundle: PaperBundle, technique: str) -> tuple[Place, ...]:
    ranked = sorted(bundle.locations, key=lambda location: location.rank)
    found = [at for at in ranked if at.technique == technique and at.confidence != "weak"][:_MOST_PLACES]
    return tuple(place_of(bundle, at.symbol, at.score, at.focus) for at in found)


def code_answer(snapshot: Snapshot, code: str, *, full: bool = False) -> CodeAnswer:
    """Answers a request for code, given the id of the code or of its technique. Raises `UnknownIdError`, which lists
    the nearest existing ids."""
    node, name = code_node(snapshot, code)
    return _code(node, name, snapshot.bundle(paper_of(node.id)), full)


def code_node(snapshot: Snapshot, code: str) -> tuple[Code, str]:
    """Returns the code for a code id or technique id, and the technique's name. Raises the same errors as
    `code_answer`."""
    if is_code(code):
        node = snapshot.code(code_id(snapshot, code))
        return node, snapshot.technique(node.technique).technique.name
    view = snapshot.technique(technique_id(snapshot, code))
    if view.code is None:
        below = short_ids(snapshot, [c.id for c in view.children][:3]).values()
        hint = f"; its components are {', '.join(below)}" if below else ""
        why = f", because {short(view.technique.hidden, SHORT_TEXT)}" if view.technique.hidden else ""
        raise UnknownIdError(f"technique {quoted(code)} has no code in this graph{why}{hint}")
    return view.code, view.technique.name


def _code(code: Code, name: str, bundle: PaperBundle, full: bool) -> CodeAnswer:
    cut = [] if full else [part for part, there in (("test", code.test), ("evidence", code.evidence)) if there]
    return CodeAnswer(
        id=code.id,
        technique=code.technique,
        name=name,
        paper_title=bundle.paper.title,
        level=code.standing,
        language=code.language,
        packages=code.versions,
        documentation=code.documentation if full else short(code.documentation, SHORT_TEXT),
        implementation=code.implementation,
        test=code.test if full else None,
        proven=_proven(code),
        derived_from=tuple(place_of(bundle, d.symbol, None) for d in bundle.derivations if d.code == code.id),
        evidence=code.evidence if full else (),
        claims=code.claims if full else {},
        cut=f"{' and '.join(cut)}: ask for the code's id with detail='full'" if cut else "",
    )


def place_of(bundle: PaperBundle, symbol_id: str, score: float | None, focus: Sequence[LineRange] = ()) -> Place:
    symbol = next(s for s in bundle.symbols if s.id == symbol_id)
    repository = next(r for r in bundle.repositories if r.id == symbol.repository)
    return lines_of(symbol, repository.url or repository.id, repository.commit, score, focus)


def lines_of(
    symbol: Symbol, repository: str, commit: str | None, score: float | None, focus: Sequence[LineRange]
) -> Place:
    return Place(
        repository=repository,
        commit=commit,
        path=symbol.path,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
        symbol=symbol.qualified_name or symbol.path,
        score=score,
        focus=tuple(focus),
    )


# All mutants are tried if there are fewer than `levels.ENOUGH_MUTANTS`.
_ENOUGH = 10


def _detected(evidence: Evidence) -> str:
    tried = evidence.mutants or 0
    detected = round(tried * (evidence.mutation_score or 0.0))
    few = " (all there are)" if tried + evidence.excused < _ENOUGH else ""
    same = f" ({evidence.excused} more are equivalent to the original)" if evidence.excused else ""
    return f"its test detects {detected} of {tried} changes to the code{few}{same}"


def _proven(code: Code) -> str:
    last = code.evidence[-1] if code.evidence else None
    if last is None:
        return f"{code.level.value}; no evidence is stored"
    summary = f"{code.standing}, checked {last.checked_at or 'at an unknown time'} by {last.runner or 'parsing'}"
    if code.level is Level.CLAIMED:
        summary = f"claimed to be {last.level.value}, but not run here{_unknown_keys(code)}"
    if last.repairs:
        summary += f", after {last.repairs} repair{'s' if last.repairs > 1 else ''} ('{code.evidence[0].level}' before)"
    if last.mutation_score is not None:
        summary += f"; {_detected(last)}"
    if last.fidelity is not None:
        summary += f"; {last.fidelity.share:.1%} of its statements are in the sources"
        if last.fidelity.by_definition:
            summary += f", {last.fidelity.by_definition:.1%} match the definition where no source applies"
        summary += "".join(f"; {fault.kind}: {fault.remark}" for fault in last.fidelity.faults or ())
        summary += _departures(last.fidelity)
    return summary + (f"; next level: {last.reason}" if last.reason else "")


def _unknown_keys(code: Code) -> str:
    keys = [key for key, _ in vouchers(code)]
    more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
    return f"; attested by {keys[0]}{more}, not trusted here" if keys else ""


def _departures(fidelity: Fidelity) -> str:
    own = [each for each in fidelity.departures if not each.component]
    components = [each for each in fidelity.departures if each.component]
    inherited = f"; its components also differ from the paper: {_listed(components)}" if components else ""
    if fidelity.statements is None:
        return f"; not compared with the statements of its definition{inherited}"
    statements = plural(fidelity.statements, "statement")
    if not own:
        return f"; paper and repository agree on the {statements} of its definition{inherited}"
    parted = len({departure.statement for departure in own})
    return f"; differs from the paper in {parted} of {statements} of its definition: {_listed(own)}{inherited}"


def _listed(departures: Iterable[Departure]) -> str:
    return "; ".join(
        f"“{short(each.statement, 160)}”: {each.kind_in_words}, {short(each.remark, SHORT_TEXT)}" for each in departures
    )


EXAMPLES = (
    "MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code) RETURN t.id, c.level LIMIT 20",
    "MATCH (p:Paper)-[:PROPOSES]->(t:Technique)-[:HAS_COMPONENT*0..3]->(s:Technique) RETURN p.id, s.name LIMIT 50",
    "MATCH (t:Technique) WHERE lower(t.name) CONTAINS $word RETURN t.id, t.name",
)


QUERIES_CHARACTERS = 8000
"""Maximum total length of the named queries' descriptions, in characters. The tables' descriptions are about as long. A
test checks this limit."""


_ENDS = re.compile(r"FROM (\w+) TO (\w+),?\s*")


def schema_answer(snapshot: Snapshot, schema_text: str, queries: Iterable[str], *, full: bool = True) -> SchemaAnswer:
    return SchemaAnswer(
        schema_text=schema_text if full else _patterns(schema_text),
        papers=snapshot.paper_count(),
        generation=snapshot.generation,
        queries=tuple(line if full else line.partition("):")[0] + ")" for line in queries),
        examples=EXAMPLES if full else EXAMPLES[:1],
        cut="" if full else "types and what each query answers: call again with detail='full'",
    )


def _patterns(schema_text: str) -> str:
    """Renders the tables as Cypher patterns. The types of string properties are omitted."""
    patterns = []
    for kind, name, inside in TABLE.findall(schema_text):
        ends = _ENDS.findall(inside)
        columns = " ".join(_ENDS.sub("", inside).split())
        columns = re.sub(r" STRING\b(?!\[)( PRIMARY KEY)?", "", columns)
        if kind == "NODE":
            patterns.append(f"(:{name} {{{columns}}})")
        else:
            first, second = ("|".join(dict.fromkeys(labels)) for labels in zip(*ends, strict=True))
            patterns.append(f"(:{first})-[:{name}{f' {{{columns}}}' if columns else ''}]->(:{second})")
    return "\n".join(patterns)


def cypher_answer(table: Table) -> CypherAnswer:
    cut = f"only the first {len(table.rows)} rows: add ORDER BY, SKIP and LIMIT" if table.truncated else ""
    return CypherAnswer(columns=table.columns, rows=table.rows, cut=cut)


def search_row(view: TechniqueView, score: float, relatives: Iterable[Relative] = ()) -> SearchRow:
    return SearchRow(
        id=view.technique.id,
        name=view.technique.name,
        paper_title=view.paper_title,
        score=round(score, 3),
        level=view.code.standing if view.code else "none",
        code=view.code.id if view.code else None,
        definition=short(view.technique.definition, SHORT_TEXT),
        no_code=short(view.technique.hidden or "", SHORT_TEXT),
        without_code=view.without_code[:MOST_NAMED] if view.code else (),
        relatives=tuple(relatives),
    )


def _line(technique: Technique, code: Code | None) -> TechniqueLine:
    return TechniqueLine(
        id=technique.id,
        name=technique.name,
        depth=technique.depth,
        level=code.standing if code else "none",
        code=code.id if code else None,
    )
