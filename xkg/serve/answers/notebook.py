"""Answers in notebooks: as HTML and as pandas tables. Text of papers is escaped, because it is untrusted there too."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from xkg.errors import InputError
from xkg.serve.answers.quoting import escaped, visible

if TYPE_CHECKING:
    import pandas

_SOURCE = frozenset(("implementation", "test", "context", "schema_text"))
_OMITTED = frozenset(("notice", "cursor", "uri"))
_CELL = 300
"""The maximum length of a text in a table cell. A separate field shows the full text."""


def html(answer: BaseModel) -> str:
    """The non-empty fields of an answer: lists of values as tables, code unchanged, everything else as text."""
    parts = [f"<h4>{escape(_heading(answer))}</h4>"]
    plain: dict[str, object] = {}
    for name, value in _fields(answer).items():
        if isinstance(value, str) and name in _SOURCE:
            parts.append(f"<p><b>{escape(name)}</b></p><pre><code>{escape(escaped(value))}</code></pre>")
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            parts.append(f"<p><b>{escape(name.replace('_', ' '))}</b></p>{_table([_fields(item) for item in value])}")
        elif name == "rows" and isinstance(value, tuple):
            columns: Sequence[str] = getattr(answer, "columns", ())
            parts.append(_table([dict(zip(columns, row, strict=True)) for row in value], columns))
        elif name != "columns":
            plain[name] = value
    facts = "".join(
        f"<tr><th style='text-align:left'>{escape(name.replace('_', ' '))}</th>"
        f"<td style='text-align:left'>{_text(value)}</td></tr>"
        for name, value in plain.items()
    )
    parts.insert(1, f"<table>{facts}</table>" if facts else "")
    return "\n".join(filter(None, parts))


def frame(answer: BaseModel, paged: str) -> "pandas.DataFrame":
    """One row for each value of the list `paged`, with a column for each of its fields. Raises `InputError` if pandas
    is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise InputError("pandas is not installed: pip install pandas") from error
    rows = getattr(answer, paged)
    if rows and not isinstance(rows[0], BaseModel):
        return pandas.DataFrame([list(row) for row in rows], columns=list(getattr(answer, "columns", ())))
    if not rows:
        columns = getattr(answer, "columns", None) or _item_fields(answer, paged)
        return pandas.DataFrame(columns=list(columns))
    return pandas.DataFrame([row.model_dump() for row in rows])


def _item_fields(answer: BaseModel, paged: str) -> Sequence[str]:
    annotation: Any = type(answer).model_fields[paged].annotation
    item = next(iter(getattr(annotation, "__args__", ())), None)
    return tuple(getattr(item, "model_fields", ()))


def _heading(answer: BaseModel) -> str:
    names = (getattr(answer, name, "") for name in ("title", "name", "query", "task", "paper"))
    return visible(next((str(name) for name in names if name), type(answer).__name__))


def _fields(value: BaseModel) -> dict[str, Any]:
    return {
        name: item
        for name in type(value).model_fields
        if name not in _OMITTED and (item := getattr(value, name)) not in (None, "", (), {})
    }


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th style='text-align:left'>{escape(visible(name))}</th>" for name in names)
    body = "".join(
        "<tr>"
        + "".join(f"<td style='text-align:left'>{_text(row.get(name), short=True)}</td>" for name in names)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object, *, short: bool = False) -> str:
    match value:
        case None:
            return ""
        case tuple() | list():
            items = [_text(item, short=short) for item in value]
            return ("; " if short else "<br>").join(items)
        case BaseModel():
            return ", ".join(_text(item, short=short) for item in _fields(value).values())
        case _:
            text = visible(str(value))
            return escape(text if not short or len(text) <= _CELL else text[: _CELL - 1] + "…")
