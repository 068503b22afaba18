"""The report as one HTML page, without scripts."""

from collections.abc import Iterable
from html import escape

from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.ablation.report import rows
from xkg.agents.ablation.report.plots import importance_plot

_STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100%; font-size: 13px }
td, th { border-bottom: 1px solid #ddd; padding: 4px 8px; text-align: left; vertical-align: top }
pre { background: #f6f6f6; padding: 8px; overflow-x: auto; font-size: 12px }
dt { float: left; clear: left; width: 8em; color: #666 } dd { margin-left: 8em; overflow-wrap: anywhere }
svg { width: 100%; height: auto }
"""


def html(campaign: Campaign) -> str:
    found = campaign.importances()
    facts = "".join(f"<dt>{escape(n)}</dt><dd>{escape(v)}</dd>" for n, v in rows.summary(campaign))
    notes = "".join(f"<li>{escape(note)}</li>" for note in campaign.notes)
    table = _table(
        ("component", "strongest change", "metric", "relative change", "95 % interval", "seeds", "evidence"),
        (
            (
                i.component.name, i.best.candidate.description, f"{i.best.effect.value:.6g}",
                f"{rows.change(i.best.effect)} ({rows.direction(campaign, i.best.effect)})",
                rows.interval(i.best.effect), str(i.best.effect.seeds), rows.verdict(i),
            )
            for i in found
            if i.best is not None and i.best.effect is not None
        ),
    )  # fmt: skip
    tried = _table(
        ("round", "candidate", "kind", "place", "value", "result", "seconds", "why"),
        (
            (
                str(o.round), rows.label(o), o.candidate.kind, ", ".join(map(str, o.candidate.places)),
                f"{o.effect.value:.6g}" if o.effect else "",
                f"failed: {o.failure} ({o.problem})" if o.failure else rows.change(o.effect),
                f"{o.seconds:.1f}", rows.chosen(o),
            )
            for o in campaign.outcomes
        ),
    )  # fmt: skip
    left = _table(("name", "place", "why"), ((p.name, str(p.place), p.reason) for p in campaign.space.left_out))
    diffs = "".join(
        f"<details><summary>{escape(rows.label(o))}</summary><pre>{escape(o.diff)}</pre></details>"
        for o in campaign.outcomes
        if o.diff
    )
    said = "".join(
        (f"<h3>{escape(title)}</h3>" if title else "<h2>What it says</h2>")
        + ("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if title else _paragraphs(texts))
        for title, texts in rows.words(campaign)
    )
    lessons = "".join(
        f"<li>after round {lesson.round}: {escape(text)}</li>" for lesson in campaign.lessons for text in lesson.lessons
    )
    lessons = f"<h2>What the rounds changed</h2><ul>{lessons}</ul>" if lessons else ""
    repairs = "".join(
        f"<details><summary>{escape(repair.reason)} ({escape(repair.cause)}, after {escape(repair.failure)}: "
        f"{escape(repair.problem)})</summary><pre>{escape(repair.diff)}</pre></details>"
        for repair in campaign.repairs
    )
    repairs = f"<h2>Repairs of the baseline</h2>{repairs}" if repairs else ""
    title = escape(f"Ablation {campaign.id}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{title}</h1><dl>{facts}</dl><ul>{notes}</ul>{said}"
        f"<h2>Importance by component</h2>{importance_plot(found)}"
        f"{table}<p>{escape(rows.comparisons(campaign))}</p><h2>What was tried, in order</h2>{tried}"
        f"{lessons}<h2>Left out</h2>{left}{repairs}<h2>Diffs</h2>{diffs}</body></html>\n"
    )


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    return f"<table>{''.join(lines)}</table>"
