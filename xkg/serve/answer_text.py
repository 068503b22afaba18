"""Answers as text, for people and for models. Quoted text is kept apart from the server's own lines."""

import itertools
import operator
from collections.abc import Sequence
from enum import Enum
from typing import Any

from pydantic import BaseModel

from xkg.model import Reference
from xkg.serve.answers.quoting import fenced, framed, one_line, quoted, visible
from xkg.serve.answers.types import (
    BLOCKS,
    SOURCE,
    Answer,
    CodeAnswer,
    CypherAnswer,
    FoundRow,
    ImplementationsAnswer,
    LocateAnswer,
    LocatedPlace,
    PaperAnswer,
    PapersAnswer,
    Place,
    Quoting,
    SchemaAnswer,
    SearchAnswer,
    SearchRow,
    TechniqueAnswer,
)
from xkg.serve.context.context import ContextAnswer
from xkg.serve.jobs.answers import JobAnswer, JobsAnswer, job_lines, jobs_lines
from xkg.serve.jobs.open_questions import QuestionsAnswer, TakenAnswer, questions_lines, taken_lines
from xkg.serve.running.answer import RunAnswer
from xkg.serve.search.related import Pair, RelatedAnswer
from xkg.text.plural import plural

AnyAnswer = Answer | RelatedAnswer | ContextAnswer | JobAnswer | JobsAnswer | QuestionsAnswer | TakenAnswer | RunAnswer


class ServerLine(str):
    """A line of the server itself, without quotes."""


class AgentLine(ServerLine):
    """A line of the server itself, shown only to models."""


class AgentQuote(str):
    """A quote that is shown only to models."""


def text(answer: AnyAnswer) -> str:
    """The answer for people, longest fields last."""
    lines = [line for line in _lines(_flattened(answer)) if not isinstance(line, AgentLine | AgentQuote)]
    return visible("\n".join(lines)).rstrip() + "\n"


def text_for_agents(answer: AnyAnswer) -> str:
    """The same answer for a model. Text quoted from papers and repositories is placed between marks (`framed`)."""
    lines = [*_lines(_flattened(answer)), *_onward(answer)]
    first = len(list(itertools.takewhile(lambda line: isinstance(line, ServerLine), lines)))
    begun = visible("\n".join(lines[:first]))
    own = visible("\n".join(line for line in lines[first:] if isinstance(line, ServerLine)))
    quoted_text = visible("\n".join(line for line in lines if not isinstance(line, ServerLine))).rstrip()
    if quoted_text and _quotes(answer):
        quoted_text = framed(quoted_text)
    return "\n".join(filter(None, (begun, quoted_text.rstrip(), own))) + "\n"


def _quotes(answer: AnyAnswer) -> bool:
    """Whether the answer quotes papers or repositories, as results and errors of builds do."""
    jobs = answer.jobs if isinstance(answer, JobsAnswer) else (answer,) if isinstance(answer, JobAnswer) else ()
    return isinstance(answer, Quoting) or any(job.error or job.result or job.curated for job in jobs)


def _lines(answer: AnyAnswer) -> list[str]:
    match answer:
        case ContextAnswer():
            return [answer.context]
        case SearchAnswer():
            return _search_lines(answer)
        case PapersAnswer():
            return _papers_lines(answer)
        case ImplementationsAnswer():
            return _implementations_lines(answer)
        case RelatedAnswer():
            return _related_lines(answer)
        case JobAnswer():
            return job_lines(answer)
        case JobsAnswer():
            return jobs_lines(answer)
        case QuestionsAnswer():
            return [ServerLine("\n".join(questions_lines(answer)))]
        case TakenAnswer():
            return [ServerLine(line) for line in taken_lines(answer)]
        case RunAnswer():
            return _run_lines(answer)
        case PaperAnswer():
            return _paper_lines(answer)
        case TechniqueAnswer():
            return _technique_lines(answer)
        case CodeAnswer():
            return _code_lines(answer)
        case LocateAnswer():
            return _locate_lines(answer)
        case SchemaAnswer():
            counts = f"{plural(answer.papers, 'paper')}, generation {answer.generation}"
            named = "Named queries, for cypher by their name; a parameter without '=' is required:"
            lines = [counts, "", answer.schema_text, "", named, *answer.queries, "", "Examples:", *answer.examples]
            return [*lines, *_cut(answer.cut)]
        case CypherAnswer():
            rows = [" | ".join(_cell(value) for value in row) for row in answer.rows]
            return [" | ".join(answer.columns), *rows, *_cut(answer.cut)]


def _papers_lines(answer: PapersAnswer) -> list[str]:
    lines = [
        f"- {row.title}{f' ({row.year})' if row.year else ''}  [{row.origin}, {row.state}; "
        f"techniques {row.techniques}, code {row.code}, tested {row.tested}] {row.id}"
        for row in answer.rows
    ]
    if not lines:
        lines = [ServerLine("No such paper.")]
    return [*lines, ServerLine(f"Searched: {answer.searched}."), *_cut(answer.cut)]


def _search_lines(answer: SearchAnswer) -> list[str]:
    lines = [line for number, row in enumerate(answer.rows, start=1) for line in _row_lines(number, row)]
    if answer.nearest:
        lines += ["Probably not what you asked for:", *(f"- {row.name} {row.id}" for row in answer.nearest)]
    if answer.dropped:
        lines += ["Dropped:", *(f"- {row.name} {row.id}: {row.reason}" for row in answer.dropped)]
    searched = ServerLine(f"Searched: {answer.searched}.")
    own = [*_verified(answer.verified), *_question(answer), searched, *_cut(answer.cut)]
    if answer.rows:
        return [*lines, *own]
    papers = answer.searched.partition(",")[0].replace("all ", "these ", 1)
    return [ServerLine(f"Nothing in {papers} does this."), *lines, *own]


def _question(answer: SearchAnswer | ImplementationsAnswer) -> list[str]:
    """The verifier's question, for the reader of the answer."""
    if not answer.question:
        return [AgentQuote(answer.candidates)] if answer.candidates else []
    asked = AgentLine(f"You are the verifier. Judge the rows, which are the candidates above:\n\n{answer.question}\n")
    return [AgentQuote(f"\n{answer.candidates}"), asked]


def _code_of(row: SearchRow | FoundRow) -> str:
    has = (f"code {row.code}" if row.code else "no code") + (f", because {row.no_code}" if row.no_code else "")
    without = row.without_code if isinstance(row, SearchRow) else ()
    return has + (f"; components without code: {', '.join(without)}" if without else "")


def _row_lines(number: int, row: SearchRow | FoundRow) -> list[str]:
    change = row.measured if isinstance(row, SearchRow) else None
    measured = "" if change is None else f", measured {change:+.1%}"
    lines = [
        f"{number}. {row.name}  [score {row.score:g}, level {row.level}{measured}]",
        f"   {row.id}",
        f"   paper: {row.paper_title}; {_code_of(row)}",
    ]
    texts = (row.definition, row.reason and f"why: {row.reason}", row.guidance and f"apply: {row.guidance}")
    lines += [f"   {line}" for line in texts if line]
    full = (f"   {r.relation}: {r.name} [{r.score:g}] {r.id}" for r in row.relatives if r.score is not None)
    brief: dict[str, list[str]] = {}
    for relative in row.relatives:
        if relative.score is None:
            brief.setdefault(relative.relation, []).append(f"{relative.name} {relative.id}".strip())
    return [*lines, *full, *(f"   {relation}: {', '.join(ids)}" for relation, ids in brief.items())]


def _implementations_lines(answer: ImplementationsAnswer) -> list[str]:
    lines = [f"{answer.task}", f"In parts {answer.decomposed}."]
    for part in answer.parts:
        lines += ["", f"Part {part.number}: {part.step}"]
        lines += [line for number, row in enumerate(part.rows, start=1) for line in _row_lines(number, row)]
        for row in part.again:
            lines.append(
                f"   as in part {row.part}: {row.name} {row.id}" + (f": {row.guidance}" if row.guidance else "")
            )
        if part.note:
            lines.append(f"   {part.note}")
    for code in answer.implementations:
        packages = ", ".join(code.packages) or "none"
        lines += ["", f"{code.name}  [{code.level}] {code.code}  ({code.language}; packages: {packages})"]
        lines.append(fenced(code.implementation, code.language))
    lines.append("")
    searched = ServerLine(f"Searched: {answer.searched}.")
    return [*lines, *_verified(answer.verified), *_question(answer), searched, *_cut(answer.cut)]


def _verified(outcome: str) -> list[str]:
    return [ServerLine(f"{'Verified' if outcome.startswith('by ') else 'Verification:'} {outcome}.")] if outcome else []


def _related_lines(answer: RelatedAnswer) -> list[str]:
    lines = [f"Related to {answer.paper}:"]
    for number, row in enumerate(answer.rows, start=1):
        year = f" ({row.year})" if row.year else ""
        reasons = [reason for reason, holds in (("cited by it", row.cites), ("cites it", row.cited)) if holds]
        reasons += [f"techniques alike {row.alike:g}"] if row.alike else []
        lines += [f"{number}. {row.title}{year}  [score {row.score:g}]", f"   {row.id}"]
        lines += [f"   {', '.join(reasons)}"] if reasons else []
        lines += [f"   one concept: {_pair(pair)}" for pair in row.shared]
        lines += [f"   alike: {_pair(pair)}" for pair in row.nearest if pair not in row.shared]
    if not answer.rows:
        lines = [f"Nothing is related to {answer.paper}."]
    return [*lines, ServerLine(f"Searched: {answer.searched}."), *_cut(answer.cut)]


def _pair(pair: Pair) -> str:
    return f"{pair.own_name} {pair.own} and {pair.other_name} {pair.other}"


def _paper_lines(answer: PaperAnswer) -> list[str]:
    year = str(answer.year) if answer.year else ""
    lines = [f"Paper: {answer.title}", f"{answer.id}  ({answer.origin}, {answer.state})"]
    if answer.authors:
        lines.append(f"by: {', '.join([*answer.authors, *([year] if year else [])])}")
    elif year:
        lines.append(f"year: {year}")
    if answer.incomplete:
        lines += ["", "Partial:", *(f"- {reason}" for reason in answer.incomplete)]
    if answer.abstract:
        lines += ["", quoted(answer.abstract)]
    if answer.techniques:
        lines += ["", "Techniques:"]
    for t in answer.techniques:
        code = f", code {t.code}" if t.code else ""
        lines.append(f"{'  ' * t.depth}- {t.name}  [{t.level}{code}] {t.id}")
    if answer.repositories:
        lines += ["", f"Repositories: {', '.join(answer.repositories)}"]
    if answer.hidden:
        lines += ["", "Hidden techniques:", *(f"- {t.name}: {t.reason} {t.id}" for t in answer.hidden)]
    for title, items in (("Findings", answer.findings), ("Resources", answer.resources)):
        if items:
            lines += ["", f"{title}:"]
            lines += [f"- {item.name}" + (f": {item.description}" if item.description else "") for item in items]
    if answer.references:
        lines += ["", "References:", *(f"- {_reference(r)}" for r in answer.references)]
    if answer.code_overview:
        lines += ["", "Code overview:", quoted(answer.code_overview)]
    if answer.code_files:
        lines += ["", "Code files:", *(f"- {path}" for path in answer.code_files)]
    if answer.nothing_in:
        lines += ["", "Asked about, and no technique found there:", *(f"- {each}" for each in answer.nothing_in)]
    for implementation in answer.implementations:
        lines += ["", *_code_lines(implementation)]
    return [*lines, *_cut(answer.cut)]


def _reference(reference: Reference) -> str:
    facts = (reference.title, reference.cited_as, reference.key, reference.arxiv_id, reference.doi, reference.year)
    known = dict.fromkeys(str(fact) for fact in (*facts, reference.text) if fact)
    return "; ".join(known)


def _technique_lines(answer: TechniqueAnswer) -> list[str]:
    lines = [
        f"Technique: {answer.name}",
        f"{answer.id}  ({answer.kind}, grounding {answer.grounding})",
        f"paper: {answer.paper_title} ({answer.paper})",
        f"path: {' > '.join(answer.path)}" + (f" (parent {answer.parent})" if answer.parent else ""),
        f"code: {answer.code or 'none'} [{answer.level}]",
    ]
    lines += [f"hidden: {answer.hidden}"] if answer.hidden else []
    lines += [f"components without code: {', '.join(answer.without_code)}"] if answer.without_code else []
    if answer.aliases:
        lines.append(f"aliases: {', '.join(answer.aliases)}")
    if answer.definition:
        lines += ["", quoted(answer.definition)]
    if answer.components:
        lines += ["", "Components:"]
    for item, node_id in zip(answer.components, answer.component_ids, strict=True):
        lines.append(f"- {item.name} {node_id}" + (f": {item.description}" if item.description else ""))
    lines += ["", *_place_lines(answer.locations)] if answer.locations else []
    if answer.measured:
        lines += ["", "Measured by ablation:"]
    for measured in answer.measured:
        lines.append(f"- {measured}; {measured.direction} is better; {measured.kind}, {measured.measured_at}")
        lines += [f"  {name}: {text}" for name, text in (("at", measured.commit), ("by", measured.command)) if text]
        lines += [quoted(measured.diff)] if measured.diff else []
    for e in answer.excerpts:
        place = f", {e.path}:{e.line}" if e.path else ""
        lines.append(f"excerpt: {e.section}, characters {e.start}-{e.end}{place}")
    return [*lines, *_cut(answer.cut)]


def _code_lines(answer: CodeAnswer) -> list[str]:
    lines = [
        f"Code: {answer.name}  [{answer.level}]",
        f"{answer.id}  ({answer.language}; packages: {', '.join(answer.packages) or 'none'})",
        f"technique: {answer.technique}; paper: {answer.paper_title}",
        f"proven: {answer.proven}",
    ]
    lines += ["made from:", *_place_lines(answer.derived_from)] if answer.derived_from else []
    if answer.documentation:
        lines += ["", quoted(answer.documentation)]
    lines += ["", fenced(answer.implementation, answer.language)]
    if answer.test:
        lines += ["", "Test:", fenced(answer.test, answer.language)]
    lines += [f"evidence: {e.model_dump_json(exclude_none=True)}" for e in answer.evidence]
    if answer.claims:
        lines.append(f"claims of the imported file, not checked: {answer.claims}")
    return [*lines, *_cut(answer.cut)]


def _run_lines(answer: RunAnswer) -> list[str]:
    how = "ended well" if answer.ok else f"failed: {answer.error}"
    lines = [f"The script over {answer.name} {how}  [{answer.seconds:.1f} s, {answer.peak_memory_mb:.0f} MB]"]
    lines += ["", fenced(answer.output)] if answer.output.strip() else ["", ServerLine("It printed nothing.")]
    for file in answer.files:
        lines.append(f"File {file.name}: {file.media_type}, {file.size:,} bytes")
        lines += [fenced(file.written)] if file.written else []
    lines += [f"Not returned: {left}" for left in answer.left_out]
    return [*lines, *_cut(answer.cut)]


def _locate_lines(answer: LocateAnswer) -> list[str]:
    lines = _place_lines(answer.locations)
    if not answer.locations:
        lines.append(ServerLine("No place found."))
    # the authors of a repository chose the names of its folders
    line_type = ServerLine if answer.searched.startswith("stored places") else str
    lines += [line_type(f"Note: {answer.note}.")] if answer.note else []
    return [*lines, line_type(f"Searched: {answer.searched}."), *_cut(answer.cut)]


def _place_lines(places: Sequence[Place]) -> list[str]:
    """Places, grouped by repository and technique."""
    lines = []
    above = ""
    for place in places:
        repository = f"{place.repository} at {place.commit}" if place.commit else place.repository
        technique = f", {place.technique}" if isinstance(place, LocatedPlace) and place.technique else ""
        if (heading := f"In {repository}{technique}:") != above:
            lines.append(above := heading)
        marks = [] if place.score is None else [f"{place.score:g}"]
        if isinstance(place, LocatedPlace):
            marks += [place.source, place.confidence]
        at = f"{place.path}:{place.start_line}-{place.end_line} {place.symbol}"
        lines.append(f"- {at}" + (f"  [{', '.join(marks)}]" if marks else ""))
        within = [f"{at.start_line}-{at.end_line} ({at.why})" for at in place.focus]
        lines += [f"  lines {'; '.join(within)}"] if within else []
        lines += [f"  same code at {', '.join(place.twins)}"] if isinstance(place, LocatedPlace) and place.twins else []
    return lines


def _onward(answer: AnyAnswer) -> list[str]:
    """Lines with the cursor and the address of the full answer."""
    cursor, uri = getattr(answer, "cursor", None), getattr(answer, "uri", None)
    lines = [ServerLine(f"More with cursor: {cursor}")] if cursor else []
    return [*lines, ServerLine(f"All of it: {uri}")] if uri else [*lines]


def _cut(cut: str) -> list[str]:
    return [ServerLine(f"Left out: {cut}.")] if cut else []


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("\n", "\\n")


def _flattened(value: Any, field: str = "") -> Any:
    """The value with every text on one line, except blocks and code, so that no text can imitate a line of another."""
    match value:
        case BaseModel():
            changed = {
                name: flat
                for name, item in value.__dict__.items()
                if item and (flat := _flattened(item, name)) is not item
            }
            return value.model_copy(update=changed) if changed else value
        case Enum():
            return value
        case str():
            return value if field in SOURCE or field in BLOCKS else one_line(value)
        case tuple():
            flat = [_flattened(item, field) for item in value]
            return value if all(map(operator.is_, flat, value)) else tuple(flat)
        case _:
            return value
