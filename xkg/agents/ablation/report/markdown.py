"""The report as Markdown."""

import re
from collections.abc import Iterable

from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.ablation.report.blocks import Block, Diff, Heading, Items, Table, Text, blocks


def markdown(campaign: Campaign) -> str:
    return "\n".join(filter(None, map(written, blocks(campaign))))


def written(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_cell(text)}\n"
        case Text(text):
            return f"{_cell(text)}\n"
        case Items(items):
            return "".join(f"- {_cell(item)}\n" for item in items)
        case Table(head, rows):
            return "".join(map(_row, (head, ["---"] * len(head)))) + "".join(_row(map(_cell, row)) for row in rows)
        case Diff(title, text):
            fence = "`" * max(3, 1 + max(map(len, re.findall("`++", text)), default=0))
            return f"### {_cell(title)}\n\n{fence}diff\n{text.removesuffix(chr(10))}\n{fence}\n"
    return ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))
