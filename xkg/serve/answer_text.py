"""Renders answers as text, for people and for models. Quoted text is kept separate from the server's own lines.

An answer starts with a head line, if its type has one, followed by its other non-empty fields in order. Multi-line text
is quoted and code is fenced, so that neither can imitate the server's lines."""

import functools
import json
from collections.abc import Iterator, Mapping
from enum import Enum
from string import Formatter
from typing import Any

from pydantic import BaseModel

from xkg.model import Evidence, Excerpt
from xkg.serve.answers.json import structured
from xkg.serve.answers.quoting import fenced, framed, one_line, quoted, visible
from xkg.serve.answers.types import (
    BLOCKS,
    SOURCE,
    Answer,
    CodeAnswer,
    CypherAnswer,
    Implementation,
    ImplementationsAnswer,
    LocateAnswer,
    LocatedPlace,
    Measured,
    Mention,
    Place,
    Quoting,
    SearchAnswer,
    TechniqueAnswer,
)
from xkg.serve.context.context import ContextAnswer
from xkg.serve.jobs.answers import JobAnswer, JobsAnswer
from xkg.serve.jobs.open_questions import JobQuestion, QuestionsAnswer, TakenAnswer
from xkg.serve.running.answer import RunAnswer
from xkg.serve.search.related import RelatedAnswer

AnyAnswer = Answer | RelatedAnswer | ContextAnswer | JobAnswer | JobsAnswer | QuestionsAnswer | TakenAnswer | RunAnswer

_EXCERPT = "{section}, characters {start}-{end}"

_NAMES = {
    "at": "now", "claims": "claims of the imported file (not checked)", "cut": "Left out",
    "cursor": "More with cursor", "derived_from": "made from", "guidance": "apply",
    "nearest": "probably not what you asked for", "no_code": "no code, because",
    "nothing_in": "papers without a matching technique", "reason": "why", "searched": "Searched",
    "uri": "All of it", "verified": "Verification", "without_code": "components without code",
}  # fmt: skip
"""Labels for fields whose label differs from the field name."""

_OWN = frozenset(("cut", "cursor", "note", "searched", "uri", "verified"))
"""Answer fields that contain the server's own lines."""

_AS_IT_IS = frozenset(("instructions", "prompt", "schema_text"))
"""Fields whose text is already formatted."""

_FENCED = frozenset(("output", "written", "diff", "patch"))
_SHORT = 80
"""The maximum length of text in a row's head line."""

_NOT_SHOWN = frozenset(("component_ids", "content", "depth", "notice", "query"))
"""Fields that are omitted from the text."""


def text(answer: AnyAnswer) -> str:
    """Renders the answer for people."""
    shown, own = _parts(answer)
    return visible("\n".join([*_nothing(answer), *shown, *own])).rstrip() + "\n"


def text_for_agents(answer: AnyAnswer) -> str:
    """Renders the answer for a model, including the verifier's question if the model should judge the rows. Text quoted
    from papers and repositories is placed between delimiters (`framed`)."""
    shown, own = _parts(answer)
    if isinstance(answer, SearchAnswer | ImplementationsAnswer):
        shown += ["", answer.candidates] if answer.candidates else []
        asked = f"You are the verifier. Judge the rows, which are the candidates above:\n\n{answer.question}\n"
        own = [asked, *own] if answer.question else own
    quotes, last = visible("\n".join(shown)).rstrip(), visible("\n".join(own))
    quotes = framed(quotes).rstrip() if quotes and _quotes(answer) else quotes
    return "\n".join(filter(None, (*_nothing(answer), quotes, last))) + "\n"


def _nothing(answer: AnyAnswer) -> list[str]:
    field, words = getattr(answer, "nothing", ("", ""))
    if not field or answer.__dict__[field]:
        return []
    papers = answer.searched.partition(",")[0].replace("all ", "these ", 1) if isinstance(answer, SearchAnswer) else ""
    return [one_line(words.format(papers=papers))]


def _quotes(answer: AnyAnswer) -> bool:
    """Returns whether the answer quotes papers or repositories, as build results and errors do. Questions from jobs
    already contain delimiters."""
    if isinstance(answer, JobAnswer | JobsAnswer):
        jobs = answer.jobs if isinstance(answer, JobsAnswer) else (answer,)
        return any(job.error or job.result or job.curated for job in jobs)
    return isinstance(answer, Quoting) and not isinstance(answer, QuestionsAnswer)


def _parts(answer: AnyAnswer) -> tuple[list[str], list[str]]:
    """Returns an answer's lines and, separately, the server's own lines."""
    if isinstance(answer, ContextAnswer):
        return [answer.context], []
    fields = answer.__dict__
    own_names = _OWN
    if isinstance(answer, LocateAnswer) and not answer.searched.startswith("stored locations"):
        own_names = _OWN - {"searched", "note"}  # folder names come from the repository's authors
    said = {name: one_line(fields[name]) for name in fields if name in own_names and fields[name]}
    own = [f"{_named(name)}: {value}" for name, value in said.items()]
    if isinstance(answer, CypherAnswer):
        return [" | ".join(map(_cell, row)) for row in (answer.columns, *answer.rows)], own
    for_models = ("question", "candidates") if isinstance(answer, SearchAnswer | ImplementationsAnswer) else ()
    rest = {name: value for name, value in fields.items() if name not in (*own_names, *for_models)}
    return list(_value(answer, rest)), own


def _value(value: BaseModel, fields: Mapping[str, Any], *, row: bool = False) -> Iterator[str]:
    """Yields a value's head line and its other fields. In a row, short fields are appended to the head line."""
    head, in_head = _head(type(value))
    rest = {name: item for name, item in fields.items() if item and name not in in_head and name not in _NOT_SHOWN}
    line = head.format_map({name: _scalar(fields[name]) for name in in_head}).replace(":  ", ": ").removesuffix(": ")
    line = one_line(str(value)) if isinstance(value, Measured) else line  # `Measured` formats its own interval
    if row:
        inline = {name: item for name, item in rest.items() if _is_short(name, item)}
        short = "; ".join(f"{_named(name)} {_scalar(item)}" for name, item in inline.items())
        line = ("\n" if "\n" in head else "; ").join(filter(None, (line, short)))
        rest = {name: item for name, item in rest.items() if name not in inline}
    if line:
        yield line
    for name, item in rest.items():
        yield from _field(name, item, value)


@functools.cache
def _head(kind: type[BaseModel]) -> tuple[str, frozenset[str]]:
    head = _EXCERPT if kind is Excerpt else getattr(kind, "head", "")
    return head, frozenset(name for _, name, _, _ in Formatter().parse(head) if name)


def _field(name: str, item: Any, owner: BaseModel) -> Iterator[str]:
    match item:
        case str() if name in SOURCE:
            yield f"{_named(name)}:"
            yield fenced(item, getattr(owner, "language", ""))
        case str() if name in _FENCED:
            yield fenced(visible(item))
        case str() if name in _AS_IT_IS:
            yield f"\n{item}\n"
        case str() if name in BLOCKS and "\n" in visible(item).strip():
            yield f"{_named(name)}:"
            yield quoted(item)
        case tuple() if isinstance(item[0], Place):
            yield f"{_named(name)}:"
            yield from _places(item)
        case tuple() if isinstance(item[0], Evidence):
            yield from (f"{_named(name)}: {json.dumps(structured(each), ensure_ascii=False)}" for each in item)
        case tuple() if isinstance(owner, TechniqueAnswer) and name == "components":
            yield "components:"
            for each, node_id in zip(item, owner.component_ids, strict=True):
                yield from _item("- ", Mention(id=node_id, name=each.name, reason=each.description or ""))
        case tuple() if isinstance(item[0], BaseModel):
            yield from [] if name == "rows" else [f"{_named(name)}:"]
            for number, each in enumerate(item, start=1):
                yield from _item(f"{number}. " if name == "rows" else "- ", each)
        case tuple() if name != "path" and any(len(str(each)) > _SHORT for each in item):
            yield f"{_named(name)}:"
            yield from (f"- {one_line(str(each))}" for each in item)
        case tuple() if name == "path":
            yield f"path: {one_line(' > '.join(item))}"
        case BaseModel():
            yield f"{_named(name)}:"
            yield from (f"  {line}" for line in _value(item, item.__dict__))
        case _:
            yield f"{_named(name)}: {_scalar(item)}"


def _item(mark: str, item: BaseModel) -> Iterator[str]:
    """Yields the lines of a list item. Code is not indented, so that it can be copied."""
    if isinstance(item, CodeAnswer | Implementation | JobQuestion):
        yield from ("", *_value(item, item.__dict__))
        return
    indent = "  " * getattr(item, "depth", 0)
    first, *others = "\n".join(_value(item, item.__dict__, row=True)).split("\n")
    yield f"{indent}{mark}{first}"
    yield from (f"{indent}  {line}" for line in others)


def _places(places: tuple[Place, ...]) -> Iterator[str]:
    above = ""
    for place in places:
        located = place if isinstance(place, LocatedPlace) else None
        repository = f"{place.repository} at {place.commit}" if place.commit else place.repository
        technique = f", {located.technique}" if located is not None and located.technique else ""
        if (heading := one_line(f"In {repository}{technique}:")) != above:
            above = heading
            yield heading
        marks = [] if place.score is None else [f"{place.score:g}"]
        marks += [located.source, located.confidence] if located is not None else []
        at = one_line(f"{place.path}:{place.start_line}-{place.end_line} {place.symbol}")
        yield f"- {at}" + (f"  [{', '.join(marks)}]" if marks else "")
        if place.focus:
            yield "  lines " + "; ".join(f"{at.start_line}-{at.end_line} ({one_line(at.why)})" for at in place.focus)
        if located is not None and located.twins:
            yield f"  similar code at {one_line(', '.join(located.twins))}"


def _named(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def _is_short(name: str, item: Any) -> bool:
    if isinstance(item, BaseModel) or (isinstance(item, tuple) and isinstance(item[0], BaseModel)):
        return False
    return name not in (BLOCKS | _AS_IT_IS | _FENCED) and name not in SOURCE and len(str(_scalar(item))) <= _SHORT


def _scalar(item: Any) -> Any:
    """Returns numbers unchanged (for formatting), and other values as one line of text."""
    match item:
        case bool():
            return "yes" if item else "no"
        case int() | float():
            return item
        case None:
            return ""
        case Enum():
            return one_line(str(item.value))
        case tuple():
            return one_line(", ".join(map(str, item)))
        case dict():
            return json.dumps(item, ensure_ascii=False, default=str)
        case _:
            return one_line(str(item))


def _cell(value: Any) -> str:
    return "" if value is None else one_line(str(value).replace("\n", "\\n"))


Quoting.as_text = text
