"""Shows a technique's passages in the paper, its lines in the repository, and our code with its evidence."""

import base64
import difflib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from xkg.build.code.codebase import Codebase
from xkg.errors import UnknownIdError, XkgError
from xkg.model import Code, Evidence, Location, PaperBundle, Repository, Symbol, Technique, paper_of
from xkg.serve.answers.quoting import visible
from xkg.serve.answers.references import technique_id
from xkg.serve.running.answer import RunAnswer
from xkg.store.graph_store import Snapshot, TechniqueView
from xkg.web.access.guard import page_caller
from xkg.web.paper_sources import PaperSources
from xkg.web.rendering.measured import diff_lines, shown
from xkg.web.rendering.source_lines import Line, lines
from xkg.web.site import SECURITY, Site

PLACES = 3
"""Maximum number of places whose lines are shown. All other places are listed without lines."""
MOST_LINES = 400
_CONTEXT = 2
_LONGEST_DIFF = 3000

WITH_PICTURES = SECURITY["content-security-policy"].replace("img-src 'self'", "img-src 'self' data:")


class Place(NamedTuple):
    """Lines in the repository. `shown` is empty if the files are not on this machine. `source` means that our code was
    generated from these lines."""

    repository: Repository
    symbol: Symbol
    score: float | None
    rank: int | None
    why: Sequence[str]
    shown: Sequence[Line]
    cut: int
    source: bool


class Same(NamedTuple):
    """A technique from another paper that represents the same concept. `how` is `open` if this has not been decided."""

    view: TechniqueView
    score: float
    how: str


def show(site: Site, request: Request) -> Response:
    return _page(site, request)


def run(site: Site, request: Request) -> Response:
    """Runs a script on the technique's code and returns the page. Pictures are embedded, because runs are not
    stored."""
    response = _page(site, request, request.state.fields.get("script", [""])[0])
    response.headers["content-security-policy"] = WITH_PICTURES
    return response


def _page(site: Site, request: Request, script: str | None = None) -> Response:
    with site.service.snapshot() as snapshot:
        hidden = _hidden(snapshot, request.path_params["id"])
        if hidden is not None:
            return site.render(request, "hidden.html", technique=hidden[1], paper=hidden[0].paper)
        view = snapshot.technique(technique_id(snapshot, request.path_params["id"]))
        own = view.technique
        bundle = snapshot.bundle(paper_of(own.id))
        by_id = {t.id: t for t in bundle.techniques}
        same = _same(snapshot, own.id)
        against = request.query_params.get("against", "")
        other = next((s for s in same if s.view.technique.id == against), None)
        return site.render(
            request,
            "technique.html",
            anchor="",
            above=_above(by_id, own),
            children=[(child, bundle.code_of(child.id)) for child in view.children],
            siblings=_beside(bundle, own),
            same=same,
            other=other,
            difference=_difference(view.code, other.view.code) if other else (),
            measured=shown(site.service.ablations(snapshot).get(own.id, ())),
            trial=_trial(site, request, own.id, script) if view.code is not None else None,
            **columns(site.sources, bundle, own, view.code),
        )


def columns(sources: PaperSources, bundle: PaperBundle, technique: Technique, code: Code | None) -> dict[str, Any]:
    """Returns the values for the three columns."""
    codebase = sources.codebase(bundle) if bundle.repositories else None
    places, more = _places(bundle, technique, code, codebase)
    return {
        "technique": technique,
        "paper": bundle.paper,
        "repositories": bundle.repositories,
        "passages": sources.passages(bundle, technique),
        "places": places,
        "more_places": more,
        "code": code,
        "evidence": code.evidence[-1] if code and code.evidence else None,
        "implementation": implementation(code) if code else (),
        "test": lines(code.test, code.language) if code and code.test else (),
    }


def implementation(code: Code) -> Sequence[Line]:
    """Returns the lines of our code, annotated with test coverage and surviving mutants."""
    last = code.evidence[-1] if code.evidence else None
    return lines(code.implementation, code.language, 1, _marks(last), _survivors(last))


def _marks(evidence: Evidence | None) -> dict[int, str]:
    if evidence is None:
        return {}
    marks = dict.fromkeys(evidence.covered_lines or (), "covered")
    marks |= dict.fromkeys(evidence.uncovered_lines or (), "uncovered")
    return {**marks, **{s.line: f"{marks.get(s.line, '')} survivor".strip() for s in evidence.survivors}}


def _survivors(evidence: Evidence | None) -> dict[int, Sequence[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for survivor in evidence.survivors if evidence else ():
        found[survivor.line].append(survivor.change)
    return dict(found)


def _places(
    bundle: PaperBundle, technique: Technique, code: Code | None, codebase: Codebase | None
) -> tuple[list[Place], list[Place]]:
    """Returns the places to show with their lines, and the places to list without lines, both best first."""
    symbols = {s.id: s for s in bundle.symbols}
    repositories = {r.id: r for r in bundle.repositories}
    likely = (at for at in bundle.locations if at.technique == technique.id and at.confidence != "weak")
    located = sorted(likely, key=lambda at: at.rank)
    sources = [d.symbol for d in bundle.derivations if code is not None and d.code == code.id]
    wanted: list[tuple[str, Location | None]] = [(at.symbol, at) for at in located]
    known = {at.symbol for at in located}
    wanted += [(symbol, None) for symbol in sources if symbol not in known]
    places = []
    for number, (symbol_id, at) in enumerate(wanted):
        symbol = symbols.get(symbol_id)
        if symbol is None or symbol.repository not in repositories:
            continue
        shown, cut = _shown(codebase, symbol, at) if number < PLACES else ([], 0)
        places.append(
            Place(
                repositories[symbol.repository],
                symbol,
                at.score if at else None,
                at.rank if at else None,
                [f"lines {_span(f.start_line, f.end_line)}: {f.why}" for f in at.focus if f.why] if at else [],
                shown,
                cut,
                symbol_id in sources,
            )
        )
    return places[:PLACES], places[PLACES:]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def _shown(codebase: Codebase | None, symbol: Symbol, at: Location | None) -> tuple[list[Line], int]:
    """Returns a symbol's lines, with the focus lines marked, and the number of lines that were cut."""
    module = next((m for m in codebase.modules if m.path == symbol.path), None) if codebase else None
    if module is None:
        return [], 0
    every = module.text.split("\n")
    last = min(symbol.end_line, len(every), symbol.start_line + MOST_LINES - 1)
    focus = {line for f in (at.focus if at else ()) for line in range(f.start_line, min(f.end_line, last) + 1)}
    text = "\n".join(every[symbol.start_line - 1 : last])
    shown = lines(text, module.language, symbol.start_line, dict.fromkeys(focus, "focus"))
    return shown, max(0, min(symbol.end_line, len(every)) - last)


def _same(snapshot: Snapshot, technique: str) -> list[Same]:
    found = []
    for link in snapshot.links_of([technique]):
        other = link.second if link.first == technique else link.first
        try:
            found.append(Same(snapshot.technique(other), link.score, link.how))
        except UnknownIdError:  # another process may have removed the technique
            continue
    return sorted(found, key=lambda same: (same.how == "open", -same.score, same.view.technique.id))


def _difference(own: Code | None, other: Code | None) -> Sequence[Line]:
    """Returns a unified diff, without the header, between our code and another paper's code."""
    if own is None or other is None:
        return ()
    before, after = own.implementation.splitlines(), other.implementation.splitlines()
    if max(len(before), len(after)) > _LONGEST_DIFF:
        return ()
    return diff_lines(list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT))[2:])


def _above(by_id: dict[str, Technique], technique: Technique) -> list[Technique]:
    above: list[Technique] = []
    parent = technique.parent
    while parent is not None and parent in by_id:
        above.append(by_id[parent])
        parent = by_id[parent].parent
    return above[::-1]


def _beside(bundle: PaperBundle, technique: Technique) -> tuple[Technique | None, Technique | None]:
    """Returns the visible techniques directly before and after this one in the paper."""
    from xkg.web.pages.paper import tree

    every = [row.technique for row in tree(bundle)]
    at = next((n for n, other in enumerate(every) if other.id == technique.id), None)
    if at is None:
        return None, None
    return every[at - 1] if at else None, every[at + 1] if at + 1 < len(every) else None


def _hidden(snapshot: Snapshot, reference: str) -> tuple[PaperBundle, Technique] | None:
    if "#" not in reference:
        return None
    try:
        bundle = snapshot.bundle(paper_of(reference))
    except UnknownIdError:
        return None
    found = next((t for t in bundle.techniques if t.id == reference and t.hidden is not None), None)
    return None if found is None else (bundle, found)


class Trial(NamedTuple):
    """The form for running a script and its result. `script` is the text in the form. If the caller may not run scripts
    or the code cannot be run, `script` is None and `error` is the reason. `answer` is set after a run."""

    script: Markup | None
    error: str = ""
    answer: RunAnswer | None = None
    output: str = ""
    pictures: Sequence[Markup] = ()


def _trial(site: Site, request: Request, technique: str, script: str | None) -> Trial | None:
    """Runs `script`, if given, and returns the form. Returns None if this server does not run scripts."""
    if site.runs is None:
        return None
    caller = page_caller(request)
    try:
        if script is None:
            return Trial(escape(site.runs.example(technique, caller)))
        answer = site.runs.run(technique, script.replace("\r\n", "\n"), caller)
    except XkgError as error:
        return Trial(None if script is None else escape(script), str(error))
    return Trial(
        escape(script),
        answer.error,
        answer,
        visible(answer.output),
        [_image(file.name, file.media_type, file.content) for file in answer.pictures],
    )


def _image(name: str, media_type: str, content: bytes) -> Markup:
    """Embeds a picture as an image. Browsers do not run scripts or load resources in images."""
    return Markup(
        '<figure class="picture"><img alt="{}" src="data:{};base64,{}"><figcaption>{}</figcaption></figure>'
    ).format(name, media_type, base64.b64encode(content).decode(), name)
