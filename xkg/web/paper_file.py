"""Renders a paper as a self-contained HTML file without scripts."""

import base64
import hashlib
from typing import Any

from markupsafe import Markup

from xkg.model import paper_of
from xkg.serve.answers.references import paper_id
from xkg.serve.service import Service
from xkg.web.pages.paper import paper_values, tree
from xkg.web.pages.technique import columns
from xkg.web.paper_sources import PaperSources
from xkg.web.rendering.measured import shown
from xkg.web.site import STATIC, environment


def paper_file(service: Service, paper: str) -> tuple[str, str]:
    """Finds a paper by its id or title, and returns the paper's id and HTML file. Raises `UnknownIdError` if the paper
    is unknown."""
    sources = PaperSources(service.folder, service.parsers)
    with service.snapshot() as snapshot:
        identity = paper_id(snapshot, paper)
        bundle = snapshot.bundle(identity)
        rows = list(tree(bundle))
        ablations = service.ablations(snapshot)
        values = paper_values(bundle, snapshot, ablations, 1, max(1, len(rows)))
    anchors = {row.technique.id: f"t{number}-" for number, row in enumerate(rows)}

    def technique_href(technique: str) -> str:
        return f"#{anchors[technique]}" if technique in anchors else "#hidden"

    def paper_href(other: str) -> str:
        arxiv = paper_of(other).removeprefix("arxiv:")
        return f"https://arxiv.org/abs/{arxiv}" if other.startswith("arxiv:") and other != identity else "#"

    techniques = [
        {
            "row": row,
            "anchor": anchors[row.technique.id],
            "measured": shown(ablations.get(row.technique.id, ())),
            **columns(sources, bundle, row.technique, row.code),
        }
        for row in rows
    ]
    return identity, page("paper-file.html", values | {
        "techniques": techniques, "technique_href": technique_href, "paper_href": paper_href, "costs": None,
    })  # fmt: skip


def page(template: str, values: dict[str, Any]) -> str:
    """Renders a page with inline CSS. The page's content security policy allows only this CSS."""
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        environment()
        .get_template(template)
        .render(values, page="file", theme="", style=Markup(style), style_hash=f"sha256-{digest}")
    )
