"""Answers as text, for people and for models that read text."""

from typing import Any

from xkg.serve.answers import (
    Answer,
    CodeAnswer,
    CypherAnswer,
    LocateAnswer,
    PaperAnswer,
    Place,
    SchemaAnswer,
    SearchAnswer,
    TechniqueAnswer,
)
from xkg.serve.job_answers import JobAnswer, JobsAnswer, job_lines, jobs_lines
from xkg.serve.related import Pair, RelatedAnswer


def text(answer: Answer | RelatedAnswer | JobAnswer | JobsAnswer) -> str:
    """The answer for people and for models that read text: the facts of its fields, the longest last."""
    return "\n".join(_lines(answer)).rstrip() + "\n"


def _lines(answer: Answer | RelatedAnswer | JobAnswer | JobsAnswer) -> list[str]:
    match answer:
        case SearchAnswer():
            return _search_lines(answer)
        case RelatedAnswer():
            return _related_lines(answer)
        case JobAnswer():
            return job_lines(answer)
        case JobsAnswer():
            return jobs_lines(answer)
        case PaperAnswer():
            return _paper_lines(answer)
        case TechniqueAnswer():
            return _technique_lines(answer)
        case CodeAnswer():
            return _code_lines(answer)
        case LocateAnswer():
            return _locate_lines(answer)
        case SchemaAnswer():
            counts = f"{answer.papers} papers, generation {answer.generation}"
            named = "Named queries, for cypher by their name; a parameter without '=' is required:"
            return [counts, "", answer.schema_text, "", named, *answer.queries, "", "Examples:", *answer.examples]
        case CypherAnswer():
            rows = [" | ".join(_cell(value) for value in row) for row in answer.rows]
            return [" | ".join(answer.columns), *rows, *_cut(answer.cut)]


def _search_lines(answer: SearchAnswer) -> list[str]:
    lines = []
    for number, row in enumerate(answer.rows, start=1):
        code = f"code {row.code}" if row.code else "no code"
        lines += [
            f"{number}. {row.name}  [score {row.score:g}, level {row.level}]",
            f"   {row.id}",
            f"   paper: {row.paper_title}; {code}",
        ]
        if row.definition:
            lines.append(f"   {row.definition}")
        lines += [f"   {r.relation}: {r.name} [{r.score:g}] {r.id}" for r in row.relatives]
    if not answer.rows:
        lines.append("Nothing fits.")
    return [*lines, f"Searched: {answer.searched}.", *_cut(answer.cut)]


def _related_lines(answer: RelatedAnswer) -> list[str]:
    lines = [f"Related to {answer.paper}:"]
    for number, row in enumerate(answer.rows, start=1):
        year = f" ({row.year})" if row.year else ""
        how = [said for said, holds in (("cited by it", row.cites), ("cites it", row.cited)) if holds]
        how += [f"techniques alike {row.alike:g}"] if row.alike else []
        lines += [f"{number}. {row.title}{year}  [score {row.score:g}]", f"   {row.id}"]
        lines += [f"   {', '.join(how)}"] if how else []
        lines += [f"   one concept: {_pair(pair)}" for pair in row.shared]
        lines += [f"   alike: {_pair(pair)}" for pair in row.nearest if pair not in row.shared]
    if not answer.rows:
        lines = [f"Nothing is related to {answer.paper}."]
    return [*lines, f"Searched: {answer.searched}.", *_cut(answer.cut)]


def _pair(pair: Pair) -> str:
    return f"{pair.own_name} {pair.own} and {pair.other_name} {pair.other}"


def _paper_lines(answer: PaperAnswer) -> list[str]:
    about = ", ".join([*answer.authors, *([str(answer.year)] if answer.year else [])])
    lines = [answer.title, f"{answer.id}  ({answer.origin}, {answer.state})", *([about] if about else [])]
    if answer.incomplete:
        lines += ["", "Partial:", *(f"- {reason}" for reason in answer.incomplete)]
    if answer.abstract:
        lines += ["", answer.abstract]
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
        lines += ["", "References:", *(f"- {r.title or r.text or r.key}" for r in answer.references)]
    if answer.code_overview:
        lines += ["", "Code overview:", answer.code_overview]
    if answer.code_files:
        lines += ["", "Code files:", *answer.code_files]
    for implementation in answer.implementations:
        lines += ["", *_code_lines(implementation)]
    return [*lines, *_cut(answer.cut)]


def _technique_lines(answer: TechniqueAnswer) -> list[str]:
    lines = [
        answer.name,
        f"{answer.id}  ({answer.kind}, grounding {answer.grounding})",
        f"paper: {answer.paper_title} ({answer.paper})",
        f"path: {' > '.join(answer.path)}" + (f" (parent {answer.parent})" if answer.parent else ""),
        f"code: {answer.code} [{answer.level}]" if answer.code else "code: none",
    ]
    if answer.aliases:
        lines.append(f"aliases: {', '.join(answer.aliases)}")
    if answer.definition:
        lines += ["", answer.definition]
    if answer.components:
        lines += ["", "Components:"]
    for item, node_id in zip(answer.components, answer.component_ids, strict=True):
        lines.append(f"- {item.name} {node_id}" + (f": {item.description}" if item.description else ""))
    if answer.locations:
        lines += ["", f"In {_repository_of(answer.locations[0])}:"]
    lines += [f"- {_lines_of(place)}  [{place.score:g}]" for place in answer.locations]
    for e in answer.excerpts:
        place = f", {e.path}:{e.line}" if e.path else ""
        lines.append(f"excerpt: {e.section}, characters {e.start}-{e.end}{place}")
    return [*lines, *_cut(answer.cut)]


def _code_lines(answer: CodeAnswer) -> list[str]:
    lines = [
        f"{answer.name}  [{answer.level}]",
        f"{answer.id}  ({answer.language}; packages: {', '.join(answer.packages) or 'none'})",
        f"technique: {answer.technique}; paper: {answer.paper_title}",
        f"proven: {answer.proven}",
    ]
    if answer.derived_from:
        places = ", ".join(_lines_of(place) for place in answer.derived_from)
        lines.append(f"made from: {places} in {_repository_of(answer.derived_from[0])}")
    if answer.documentation:
        lines += ["", answer.documentation]
    lines += ["", f"```{answer.language}", answer.implementation.rstrip("\n"), "```"]
    if answer.test:
        lines += ["", "Test:", f"```{answer.language}", answer.test.rstrip("\n"), "```"]
    lines += [f"evidence: {e.model_dump_json(exclude_none=True)}" for e in answer.evidence]
    if answer.claims:
        lines.append(f"claims of the imported file, not checked: {answer.claims}")
    return [*lines, *_cut(answer.cut)]


def _locate_lines(answer: LocateAnswer) -> list[str]:
    lines = []
    repository = technique = None
    for place in answer.locations:
        if (_repository_of(place), place.technique) != (repository, technique):
            repository, technique = _repository_of(place), place.technique
            lines.append(f"In {repository}" + (f", {technique}:" if technique else ":"))
        lines.append(f"- {_lines_of(place)}  [{place.score:g}, {place.source}]")
    if not answer.locations:
        lines.append("Nothing is located.")
    if answer.note:
        lines.append(f"Note: {answer.note}.")
    return [*lines, f"Searched: {answer.searched}.", *_cut(answer.cut)]


def _repository_of(place: Place) -> str:
    return f"{place.repository} at {place.commit}" if place.commit else place.repository


def _lines_of(place: Place) -> str:
    return f"{place.path}:{place.start_line}-{place.end_line} {place.symbol}"


def _cut(cut: str) -> list[str]:
    return [f"Left out: {cut}."] if cut else []


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("\n", "\\n")
