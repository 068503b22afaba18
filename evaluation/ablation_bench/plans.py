"""Reads ablation plans, and answers from planners and judges. Answers contain JSON lines in
`<predictions>…</predictions>`.

Unusable entries are skipped and counted by kind, and never raise an error."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, field_validator, model_validator

from evaluation.inputs.rows import first_error

Action = Literal["REMOVE", "REPLACE", "ADD"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
MOST_CHARACTERS = 400_000
MOST_LINES = 500
_TAGGED = re.compile(r".*<predictions>(.*?)(?:</predictions>|\Z)", re.DOTALL)


class PlanEntry(BaseModel):
    """An ablation in the benchmark's format. Other fields of a row are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Text
    ablated_part: Text
    action: Action
    replacement: tuple[str, ...] = ()
    metrics: tuple[str, ...]

    @field_validator("replacement", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return [f"{key}: {option}" for key, option in value.items()]
        if isinstance(value, list | tuple):
            return [option if isinstance(option, str) else json.dumps(option) for option in value]
        return () if value is None else value

    @model_validator(mode="after")
    def _replaced(self) -> "PlanEntry":
        if self.action != "REMOVE" and not self.replacement:
            raise ValueError("replacement is missing")
        return self

    def json_line(self) -> str:
        """Returns the entry as a JSON line in the benchmark's plan format."""
        return json.dumps(
            self.model_dump(mode="json", exclude=set() if self.replacement else {"replacement"}), ensure_ascii=False
        )


@dataclass(frozen=True)
class Plan:
    """A plan's entries in order. `problems` counts the errors by kind."""

    entries: tuple[PlanEntry, ...]
    problems: Counter[str] = field(default_factory=Counter)

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    def jsonl(self) -> str:
        return "\n".join(entry.json_line() for entry in self.entries)


def predictions(text: str) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Returns the JSON objects between the tags, and the errors. The last block is used, because a model may quote the
    format first."""
    problems: Counter[str] = Counter()
    if len(text) > MOST_CHARACTERS:
        problems["answer cut off at the limit of characters"] += 1
    tagged = _TAGGED.match(text[:MOST_CHARACTERS])
    if tagged is None:
        return [], problems + Counter({"no predictions between the tags": 1})
    rows: list[dict[str, Any]] = []
    lines = [line for line in map(str.strip, tagged[1].splitlines()) if line and not line.startswith("```")]
    for line in lines[:MOST_LINES]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            problems["line that is not a JSON object"] += 1
    return rows, problems


def read_plan(text: str, k: int) -> Plan:
    """Returns the plan in an answer, with at most `k` entries."""
    rows, problems = predictions(text)
    entries: dict[str, PlanEntry] = {}
    for row in rows:
        try:
            entry = PlanEntry.model_validate(row)
        except ValidationError as error:
            problems[first_error(error)] += 1
            continue
        problems["name used twice"] += entry.name in entries
        entries.setdefault(entry.name, entry)
    problems[f"entry beyond the first {k}"] += max(0, len(entries) - k)
    return Plan(tuple(entries.values())[:k], +problems)


def read_jsonl(text: str, k: int) -> Plan:
    """Reads a plan from JSON lines without tags, as stored by the benchmark."""
    return read_plan(f"<predictions>\n{text}\n</predictions>", k)
