"""Implements `xkg curate`, which finds the papers and repositories worth building alongside a target."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.clock import CLOCK, Clock
from xkg.commands.graph.open import blacklist_guard, embedder, language_model, require_folder, share_pace
from xkg.config import Settings
from xkg.errors import ConfigError, InputError, install_extra
from xkg.files import private_folder, write_whole

if TYPE_CHECKING:  # functions import heavy modules when they need them
    from xkg.build.curation.blacklist_guard import BlacklistGuard
    from xkg.build.curation.curated_set import ChosenRepository, CuratedSet
    from xkg.build.paper.document import Document
    from xkg.build.parsing.parsers import Parsers
    from xkg.build.sources.github import GitHub
    from xkg.build.sources.paper_index import PaperIndex
    from xkg.build.sources.paper_source import Source

OFF = "none"


def curate(
    settings: Settings,
    target: str,
    *,
    most: int = 10,
    blacklist: Path | None = None,
    paper_id: str | None = None,
    notify: "Callable[[str], None]" = lambda _: None,
    called: "Callable[[object], None]" = lambda _: None,
    clock: Clock = CLOCK,
) -> "CuratedSet":
    """Curates one target (a path, an arXiv id or an address), and stores the set in the graph's `curation` folder.
    Excludes the entries in `blacklist`. `notify` receives lines about failed requests and the location of the set.
    `called` receives each call to the language model.

    Raises `InputError` if the target cannot be read, and `ConfigError` if the `curation` extra is not installed. Also
    raises the errors of `curate` in `xkg.build.curation`."""
    from xkg.build.curation.curate import Sources
    from xkg.build.curation.curate import curate as curated
    from xkg.build.curation.guide import Guide
    from xkg.build.curation.repository_search import RepositorySearch
    from xkg.build.parsing.parsers import Parsers
    from xkg.build.pipeline import id_of
    from xkg.build.sources.arxiv import ArxivSource
    from xkg.build.sources.paper_source import find_paper

    require_folder(settings.kg)
    share_pace(settings)
    indexes, host = _indexes(settings, clock), _host(settings, clock)
    notes: list[str] = []

    def note(line: str) -> None:
        notes.append(line)
        notify(line)

    with ExitStack() as opened:
        parsers = opened.enter_context(Parsers())
        papers = ArxivSource(settings.kg / "papers", settings.arxiv.url, parsers, clock=clock)

        def text(arxiv_id: str) -> "Document":
            return parsers.paper(papers.paper(arxiv_id).path)

        found = find_paper(target, (papers,))
        document = found.described(parsers.paper(found.path))
        identity = paper_id or id_of(document, found.path)
        if host is not None:
            notify(host.limits)
        guard = blacklist_guard(settings, blacklist, note)
        refused = guard.repository if guard is not None else lambda _: None
        guide = None
        if settings.llm.model != OFF:
            without_key = "to rank by citations and vectors, pass `--llm none`"
            model = opened.enter_context(language_model(settings, called, without_key))
            name = settings.llm.paper_model or settings.llm.model
            ask = model.for_paper(f"curate {identity}")
            guide = Guide(ask, name, note, searches=model.searches("paper_model"))
        decide = guide.is_own if guide is not None else lambda *_: None
        cache = settings.kg / "repositories"
        search = RepositorySearch(host, cache, decide=decide, refused=refused, note=note)
        sources = Sources(indexes, search, opened.enter_context(embedder(settings)), text, notify)
        found_set = curated(document, identity, sources, most=most, guard=guard, guide=guide)
    found_set = found_set.model_copy(update={"notes": tuple(dict.fromkeys((*found_set.notes, *notes)))})
    _store(found_set, settings.kg / "curation", notify)
    return found_set


def _store(curated: "CuratedSet", folder: Path, notify: "Callable[[str], None]") -> None:
    """Stores the reasons why papers were chosen or dropped in `folder`, so that they survive a later build failure."""
    from xkg.build.stage_cache import folder_name
    from xkg.text.unicode import encodable

    path = folder / f"{folder_name(curated.target)}.json"
    try:
        private_folder(folder)
        write_whole(path, encodable(curated.model_dump_json(indent=1)).encode(), 0o600)
    except OSError as error:
        notify(f"the selection is not stored, since {path} cannot be written ({error.strerror})")
    else:
        notify(f"the selection and the reasons are stored in {path}")


def own_repository(
    settings: Settings,
    paper: "str | Path",
    sources: "Sequence[Source]",
    parsers: "Parsers",
    guard: "BlacklistGuard | None",
    notes: list[str],
    clock: Clock = CLOCK,
) -> "ChosenRepository":
    """Finds a paper's own repository among the links in the paper and GitHub's search results for the title. Adds
    failed requests to `notes`. If no repository can be verified as the paper's own, raises `InputError` with the
    likeliest repository."""
    from xkg.build.curation.ownership import PaperIdentity
    from xkg.build.curation.repository_links import links_of
    from xkg.build.curation.repository_search import RepositorySearch
    from xkg.build.sources.paper_source import find_paper

    found = find_paper(str(paper), sources)
    document = found.described(parsers.paper(found.path))
    refused = guard.repository if guard is not None else lambda _: None
    host = _host(settings, clock)
    search = RepositorySearch(host, settings.kg / "repositories", refused=refused, note=notes.append)
    identity = PaperIdentity(document.title, document.authors, document.arxiv_id, None)
    looked_at = search.of(identity, links_of(document)).repositories
    if looked_at and looked_at[0].is_official:
        return looked_at[0]
    if not looked_at:
        why = f": {notes[0]}" if notes else ""
        raise InputError(
            f"no repository for this paper was found{why}; pass one with --repo, or omit --repo to build without code"
        )
    likeliest = looked_at[0]
    reasons = "; ".join(likeliest.evidence)[:400]
    raise InputError(
        f"no repository could be verified as the paper's own; the likeliest is {likeliest.url} ({reasons}): if you "
        f"know that it is the right one, pass it with --repo"
    )


def _indexes(settings: Settings, clock: Clock) -> "Sequence[PaperIndex]":
    from xkg.build.sources.arxiv_index import ArxivIndex

    chosen: list[PaperIndex] = []
    try:
        if settings.curation.openalex != OFF:
            from xkg.build.sources.openalex_index import OpenAlexIndex

            chosen.append(OpenAlexIndex(settings.curation.openalex, clock=clock))
    except ImportError as error:
        raise _missing(error) from error
    # arXiv allows one request every three seconds. arXiv is therefore queried last, for papers that the other sources
    # do not know.
    return [*chosen, ArxivIndex(settings.arxiv.url, clock=clock)]


def _host(settings: Settings, clock: Clock) -> "GitHub | None":
    if settings.curation.github == OFF:
        return None
    try:
        from xkg.build.sources.github import GitHub
    except ImportError as error:
        raise _missing(error) from error
    return GitHub(settings.kg / "curation" / "github", settings.curation.github, clock=clock)


def _missing(error: ImportError) -> ConfigError:
    return ConfigError(
        f"curation needs packages that are not installed ({error.name}); {install_extra('curation')}, or switch off "
        f"the sources that need them (curation.openalex and curation.github: none)"
    )
