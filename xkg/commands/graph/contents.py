"""Implements `xkg import`, `export`, `remove`, `store push`, `index check` and `show`."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from xkg.commands.graph.open import chosen_papers, open_service, open_store, outbox_when_unreachable, stored_paper
from xkg.config import Settings
from xkg.errors import (
    AmbiguousIdError,
    InputError,
    StoreError,
    StoreUnreachableError,
    UnknownIdError,
    XkgError,
    require_choice,
)
from xkg.files import write_export
from xkg.model import PaperBundle, paper_of, slug
from xkg.serve.answers.lookup import without_details
from xkg.serve.answers.references import is_code
from xkg.serve.answers.types import Answer, PaperAnswer, short
from xkg.serve.service import Service
from xkg.store import bundles, outbox
from xkg.store.ablations import EXPORTED, export, exported
from xkg.store.exchange import export_folder, graph_files, import_files, with_stored_evidence
from xkg.text.plural import plural
from xkg.value import Value

ExportFormat = Literal["peer", "bundle", "html", "bibtex", "csl", "graphml"]
_ABSTRACT = 600


class ImportResult(Value):
    """The imported papers, and one line for each skipped file. `generation` is 0 if nothing was imported. `published`
    is False if the graph already contained all imported data."""

    papers: tuple[str, ...]
    problems: tuple[str, ...]
    generation: int
    published: bool

    @property
    def left_out(self) -> tuple[str, ...]:
        return self.problems

    @property
    def failure(self) -> XkgError | None:
        lines = f"files left out: {len(self.problems)}; fix them, then import again"
        return InputError(lines) if self.problems else None

    def __str__(self) -> str:
        if not self.papers:
            return "nothing was imported"
        left_out = f", {plural(len(self.problems), 'file')} left out" if self.problems else ""
        if not self.published:
            whole = "the one paper" if len(self.papers) == 1 else f"all {len(self.papers)} papers"
            return f"the graph already has {whole}{left_out}; it stays generation {self.generation}"
        return f"imported {plural(len(self.papers), 'paper')}{left_out}; the graph is generation {self.generation}"


class PushResult(Value):
    """The papers from the outbox that are now in the graph, and one line for each paper that remains in the outbox."""

    sent: tuple[str, ...]
    problems: tuple[str, ...]
    generation: int

    @property
    def left_out(self) -> tuple[str, ...]:
        return self.problems

    @property
    def failure(self) -> XkgError | None:
        lines = f"{plural(len(self.problems), 'paper')} not sent; the lines above say what to do"
        return StoreError(lines) if self.problems else None

    def __str__(self) -> str:
        if not self.sent and not self.problems:
            return "no papers are waiting to be sent"
        lines = [f"sent: {paper}" for paper in self.sent]
        return "\n".join([*lines, f"{len(self.sent)} sent, {len(self.problems)} left; generation {self.generation}"])


class ExportResult(Value):
    """The files that an export wrote."""

    files: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.files)


class RemoveResult(Value):
    """The removed paper, and the first generation without it."""

    paper: str
    generation: int

    def __str__(self) -> str:
        return f"removed {self.paper}; the graph is generation {self.generation}"


class IndexReport(Value):
    """The problems in the stored graph, one per line. `problems` is empty if all files match their checksums.
    `generation` is the generation that was checked, 0 if the graph is empty, or None if there are problems."""

    generation: int | None
    problems: tuple[str, ...]

    @property
    def failure(self) -> XkgError | None:
        return (
            StoreError(f"problems found: {len(self.problems)}; the lines above say what to do")
            if self.problems
            else None
        )

    def __str__(self) -> str:
        whole = f"generation {self.generation}: every stored file matches its checksum"
        return "\n".join(self.problems) or (whole if self.generation else "the graph is empty: nothing to check")


def import_graphs(
    settings: Settings,
    *places: Path,
    own: bool = False,
    notify: Callable[[str, int, int, str], None] = lambda *_: None,
) -> ImportResult:
    """Publishes all readable graph files in `places` (files, or folders of files) in one step. Graph files are
    peer-format JSON, bundles and exported ablations. Levels in bundles become claims, unless the bundles are the user's
    `own`. Keeps levels that the graph has already proven for the same code. At each step, calls `notify` with the
    step's name, the number done, the total, and the current item. Raises `InputError` if a place contains no graph
    file. Also raises the errors of `GraphStore.publish`."""
    from xkg.sandbox.evidence.static_checks import check_parsed

    # If the shell expands `*.json`, the files include an export's list of ablations.
    lists = [place for place in places if place.name == EXPORTED and place.is_file()]
    folders = [place for place in places if place.is_dir()] + [place.parent for place in lists]
    files = [file for place in places if place not in lists for file in graph_files(place)]
    bundles, problems = import_files(
        list({file.resolve(): file for file in files}.values()),
        check_parsed,
        lambda *read: notify("reading", *read),
        claims=not own,
    )
    measured = [each for folder in dict.fromkeys(folders) for each in exported(folder)]
    generation = before = 0
    if bundles:
        with outbox_when_unreachable(settings, bundles), open_store(settings) as store:
            stored = {bundle.paper.id: stored_paper(store, bundle.paper.id) for bundle in bundles}
            proven = [
                bundle if (known := stored[bundle.paper.id]) is None else with_stored_evidence(bundle, known[1])
                for bundle in bundles
            ]
            with store.snapshot() as snapshot:
                before = snapshot.generation
            notify("indexing", 0, 0, f"{len(proven)} papers")
            generation = store.publish(proven)
            if measured:
                generation = store.add_ablations(measured)
    return ImportResult(
        papers=tuple(b.paper.id for b in bundles),
        problems=tuple(problems),
        generation=generation,
        published=generation != before,
    )


def push(settings: Settings) -> PushResult:
    """Sends the papers in the outbox to the graph's server, and reads them back. Deletes a paper's file if the paper
    arrived unchanged. Keeps newer verification results on the server. Raises `StoreUnreachableError` if the server is
    unreachable."""
    from xkg.build.verify import apply, newer_evidence

    arrived: dict[Path, PaperBundle] = {}
    sent, problems = [], []
    files = outbox.waiting(settings.kg)
    with open_store(settings) as store:
        if files:
            store.require_writable()
        for path in files:
            try:
                bundle = bundles.read(path)
                known = stored_paper(store, bundle.paper.id) if bundle.paper.origin == "build" else None
                if known is not None:
                    if bundle.paper.state != "complete" and known[1].paper.state == "complete":
                        problems.append(
                            f"{path} is partial, and the graph has a complete {bundle.paper.id}; remove the file"
                        )
                        continue
                    bundle = apply(bundle, newer_evidence(known[1], bundle), settings.prune.min_level)
                store.publish([bundle])
            except StoreUnreachableError:
                raise
            except (InputError, StoreError) as error:
                problems.append(f"{path}: {error}")
            else:
                arrived[path] = bundle
        with store.snapshot() as snapshot:
            generation = snapshot.generation
            for path, bundle in arrived.items():
                if snapshot.bundle(bundle.paper.id) == bundle:
                    path.unlink(missing_ok=True)
                    sent.append(bundle.paper.id)
                else:
                    problems.append(
                        f"{path}: {bundle.paper.id} differs from the version in the graph; push again, or remove it"
                    )
    return PushResult(sent=tuple(sent), problems=tuple(problems), generation=generation)


def export_graphs(
    settings: Settings,
    papers: Sequence[str],
    to: Path,
    form: ExportFormat,
) -> ExportResult:
    """Writes the named papers (default: all) to separate files in a folder, and the measurements of their techniques to
    another file. BibTeX, CSL-JSON and GraphML produce a single file. Raises `UnknownIdError` if a paper is unknown, and
    `InputError` if the format is unknown or the folder is not writable. For HTML, raises `ConfigError` if the `web`
    extra is not installed."""
    require_choice(form, ExportFormat, "form")
    if form == "html":
        return ExportResult(files=tuple(_pages(settings, papers, to)))
    with open_store(settings) as store, store.snapshot() as snapshot:
        chosen = chosen_papers(store, snapshot, papers)
        if form == "graphml":
            from xkg.store.graphml import graphml

            measured_here = [each for each in store.ablations() if paper_of(each.technique) in chosen]
            bundles = (snapshot.bundle(paper) for paper in chosen)
            pieces = graphml(bundles, snapshot.links(), measured_here)
            whole = write_export(to / "graph.graphml", "".join(pieces).encode())
            return ExportResult(files=(str(whole),))
        if form == "bibtex" or form == "csl":  # mypy narrows the type only in this form
            from xkg.store.bibliographies import bibtex, csl_json

            own = [paper for paper in snapshot.papers() if paper.id in set(chosen)]
            text = bibtex(own) if form == "bibtex" else csl_json(own)
            name = "papers.bib" if form == "bibtex" else "papers.csl.json"
            return ExportResult(files=(str(write_export(to / name, text.encode())),))
        files = export_folder((snapshot.bundle(paper) for paper in chosen), to, form)
        measured = export(to, (a for a in store.ablations() if paper_of(a.technique) in chosen))
        files += [measured] if measured else []
    return ExportResult(files=tuple(str(file) for file in files))


def _pages(settings: Settings, papers: Sequence[str], to: Path) -> Iterator[str]:
    from xkg.web.require_web import require_extra

    require_extra()
    from xkg.build.stage_cache import folder_name
    from xkg.web.saved_pages import paper_file

    with open_service(settings) as service:
        with service.snapshot() as snapshot:
            chosen = papers or [line.id for line in snapshot.paper_lines()]
        for paper in chosen:
            identity, text = paper_file(service, paper)
            path = to / f"{folder_name(identity)}.html"
            write_page(path, text)
            yield str(path)


def write_page(path: Path, text: str) -> None:
    """Writes a page, and creates its folder if it is missing. Raises `InputError` if the page cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another path") from error


def remove(settings: Settings, paper: str) -> RemoveResult:
    """Removes a paper from the graph. Raises `UnknownIdError` if the graph does not contain it."""
    with open_store(settings) as store:
        with store.snapshot() as snapshot:
            [removed] = chosen_papers(store, snapshot, [paper])
        return RemoveResult(paper=removed, generation=store.remove([removed]))


def show(service: Service, node_id: str, *, everything: bool = True) -> Answer:
    """Returns a paper, technique or code node in full. Looks up the reference (`xkg.serve.answers.references`) as a
    paper id (with or without `title:`), then as a technique, then as any reference to a paper. Shortens a paper to fit
    on a screen, unless `everything` is set. Raises `UnknownIdError`, which lists the nearest ids."""
    if is_code(node_id):
        return service.code(node_id, full=True)
    if "#" in node_id:
        return service.technique(node_id, full=True)
    no_technique: UnknownIdError | None = None
    if re.match("(arxiv|doi|title):", node_id) is None:
        with contextlib.suppress(UnknownIdError):
            return _shown(service.paper(f"title:{slug(node_id)}", full=True), everything)
        try:
            return service.technique(node_id, full=True)
        except UnknownIdError as error:
            no_technique = error
    try:
        return _shown(service.paper(node_id, full=True), everything)
    except UnknownIdError as error:
        if isinstance(error, AmbiguousIdError) or no_technique is None:
            raise
        if isinstance(no_technique, AmbiguousIdError):
            raise no_technique from error
        techniques = ", ".join(no_technique.nearest)
        raise UnknownIdError(f"{error}" + (f"; techniques: {techniques}" if techniques else "")) from error


def _shown(paper: PaperAnswer, everything: bool) -> PaperAnswer:
    if everything:
        return paper
    brief, left_out = without_details(paper)
    cut = f"{', '.join(left_out)}: --all" if left_out else ""
    return brief.model_copy(update={"abstract": short(paper.abstract, _ABSTRACT), "cut": cut})


def check_index(settings: Settings) -> IndexReport:
    """Reads all stored files in full and compares them with their checksums."""
    with open_store(settings) as store:
        if problems := store.check():
            return IndexReport(generation=None, problems=tuple(problems))
        with store.snapshot() as snapshot:
            return IndexReport(generation=snapshot.generation, problems=())
