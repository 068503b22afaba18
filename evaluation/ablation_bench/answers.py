"""Reads answers of planners and judges: `<discussion>…</discussion><predictions>…</predictions>`, JSONL inside.

Unusable entries are left out and counted by kind; they never raise."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Action = Literal["REMOVE", "REPLACE", "ADD"]
MOST_CHARACTERS = 400_000
MOST_LINES = 500


@dataclass(frozen=True)
class PlanEntry:
    name: str
    ablated_part: str
    action: Action
    replacement: tuple[str, ...]
    metrics: tuple[str, ...]

    def json(self) -> str:
        """The entry as a JSON line in the benchmark's plan format."""
        fields: dict[str, Any] = {"name": self.name, "ablated_part": self.ablated_part, "action": self.action}
        if self.replacement:
            fields["replacement"] = list(self.replacement)
        return json.dumps(fields | {"metrics": list(self.metrics)}, ensure_ascii=False)


@dataclass(frozen=True)
class Plan:
    """Entries in order; `problems` counts the errors by kind."""

    entries: tuple[PlanEntry, ...]
    problems: Counter[str] = field(default_factory=Counter)

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    def jsonl(self) -> str:
        return "\n".join(entry.json() for entry in self.entries)


def predictions(text: str) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The JSON objects between the tags, and the errors. The last block counts, because a model may quote the format
    first."""
    problems: Counter[str] = Counter()
    if len(text) > MOST_CHARACTERS:
        problems["answer cut off at the limit of characters"] += 1
        text = text[:MOST_CHARACTERS]
    start = text.rfind("<predictions>")
    if start < 0:
        problems["no predictions between the tags"] += 1
        outside = sum(line.lstrip().startswith('{"name') for line in text.splitlines())
        if outside:
            problems["prediction outside the tags"] += outside
        return [], problems
    end = text.find("</predictions>", start)
    if end < 0:
        problems["predictions without an end"] += 1
    body = text[start + len("<predictions>") : end if end >= 0 else len(text)]
    rows: list[dict[str, Any]] = []
    for line in [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith("```")]:
        if len(rows) == MOST_LINES:
            problems["more lines than are read"] += 1
            break
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            problems["line that is no JSON object"] += 1
    return rows, problems


def read_plan(text: str, k: int) -> Plan:
    """The plan in an answer, at most `k` entries."""
    rows, problems = predictions(text)
    return _plan(rows, problems, k)


def read_jsonl(text: str, k: int) -> Plan:
    """A plan of JSON lines without tags, as the benchmark stores it."""
    return read_plan(f"<predictions>\n{text}\n</predictions>", k)


def _plan(rows: list[dict[str, Any]], problems: Counter[str], k: int) -> Plan:
    entries: dict[str, PlanEntry] = {}
    for row in rows:
        entry = plan_entry(row)
        if isinstance(entry, str):
            problems[entry] += 1
        elif entry.name in entries:
            problems["name used twice"] += 1
        else:
            entries[entry.name] = entry
    if len(entries) > k:
        problems[f"entry beyond the first {k}"] += len(entries) - k
    return Plan(tuple(entries.values())[:k], problems)


def plan_entry(row: dict[str, Any]) -> PlanEntry | str:
    """The entry of a row, or the error."""
    name, part, action = row.get("name"), row.get("ablated_part"), row.get("action")
    replacement, metrics = row.get("replacement"), row.get("metrics")
    if not isinstance(name, str) or not name.strip() or not isinstance(part, str) or not part.strip():
        return "no name or ablated part"
    if action not in get_args(Action):
        return "unknown action"
    if isinstance(replacement, dict):
        replacement = [f"{key}: {value}" for key, value in replacement.items()]
    if replacement is not None and not isinstance(replacement, list):
        return "replacement is no list"
    if action != "REMOVE" and not replacement:
        return "missing replacement"
    if not isinstance(metrics, list) or not all(isinstance(metric, str) for metric in metrics):
        return "metrics are no list of texts"
    options = tuple(option if isinstance(option, str) else json.dumps(option) for option in replacement or ())
    return PlanEntry(name.strip(), part.strip(), action, options, tuple(metrics))  # type: ignore[arg-type]
