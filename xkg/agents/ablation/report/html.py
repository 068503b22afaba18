"""The report as one HTML page, without scripts."""

from collections.abc import Iterable
from html import escape

from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.ablation.report.blocks import Block, Diff, Heading, Items, Table, Text, blocks
from xkg.agents.ablation.report.plots import importance_plot

_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100%; font-size: 13px }
td, th { border-bottom: 1px solid #ddd; padding: 4px 8px; text-align: left; vertical-align: top }
pre { background: #f6f6f6; padding: 8px; overflow-x: auto; font-size: 12px }
svg { width: 100%; height: auto }
"""


def html(campaign: Campaign) -> str:
    title = escape(f"Ablation {campaign.id}")
    body = "".join(_written(block, campaign) for block in blocks(campaign))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body>{body}</body></html>\n"
    )


def _written(block: Block, campaign: Campaign) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Items(items):
            return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"
        case Table(head, rows):
            return f"<table>{_row('th', head)}{''.join(_row('td', row) for row in rows)}</table>"
        case Diff(title, text):
            return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
    return importance_plot(campaign.importances())


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
