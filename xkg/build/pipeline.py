"""Runs the stages that turn a paper and its repository into a `PaperBundle`."""

import re
import time
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from xkg.build.code.codebase import Codebase
from xkg.build.context import BuildContext, Built, Contents, OpenedPaper
from xkg.build.curation.repository_links import links_of
from xkg.build.paper.document import Document
from xkg.build.parsing.parsers import deadly, elsewhere
from xkg.build.prune import pruned
from xkg.build.repositories.checkout import Checkout, fetch_repository
from xkg.build.repositories.licenses import FILE_NAME, NOTICE, file_licenses, spdx
from xkg.build.sources.paper_source import find_paper
from xkg.build.stage_cache import Begun, StageCache, StageReport, document_key, folder_name, pipeline_version
from xkg.build.static_stages import static_stages
from xkg.errors import InputError
from xkg.model import Paper, PaperBundle, Repository, paper_id, slug
from xkg.sandbox.diagnosis.cuda_failures import cuda_remedy, names_cuda
from xkg.text.plural import plural

_SUPPLEMENT = re.compile(
    r"(?:(?:the|online|electronic)\s)?(?:supplement(?:s|al|ary)?(?:\s(?:materials?|information|appendix|notes?|methods?))?"
    r"|supporting information|appendix|appendices)",
    re.IGNORECASE,
)
_MOST_LICENSES, _LARGEST_LICENSE = 100, 256 << 10
"""Maximum number of licence files to read, and maximum characters to store from each."""


def build_paper(
    paper: str | Path, repository: str | None, context: BuildContext, *, given_id: str | None = None
) -> Built:
    """Builds one paper without publishing it. The paper is a path, or a name that one of the context's sources
    recognises. Stores the output of each stage. If this run is killed, the next one repeats only unfinished or changed
    stages.

    If a model fails for some techniques, the paper is partial (`Paper.incomplete` and `Built.stopped`).

    Raises `InputError` if the paper or repository is unusable or unavailable, or if no technique is found. Raises
    `StoreError` if the graph's folder cannot be written. Raises `EmbeddingError` if there are no weights. Raises
    `LanguageModelError` if the model fails before listing any techniques."""
    opened, checkout = open_paper(paper, repository, context, given_id)
    document, cache = opened.document, opened.cache
    if context.model is None:
        contents = static_stages(opened, context)
    else:
        from xkg.build.guided.stages import guided_stages

        contents = guided_stages(opened, context, context.model)
    if not contents.extraction.techniques:
        odd = f" ({'; '.join(document.warnings[:3])})" if document.warnings else ""
        remedy = "check that its sections are marked as headings"
        if document.format in ("pdf", "html"):
            model = "" if context.model else ", or let a model read the paper (--llm)"
            remedy = f"use the paper's LaTeX source or a Markdown version{model}"
        raise InputError(f"no technique was found in {paper}{odd}; {remedy}")
    bundle = cache.stage(
        "prune",
        {
            **opened.source,
            "found": contents.extraction.model_dump_json(),
            "places": contents.grounding.model_dump_json(),
            "code": [c.model_dump_json() for c in contents.nodes.code],
            "overview": contents.overview,
            "incomplete": list(contents.incomplete),
            "said": [document.title, document.authors, document.year, document.arxiv_version],
            "asked": opened.codebase.repository.reference if opened.codebase else None,
            "runner": context.runner is not None,
            "min_level": context.settings.prune.min_level,
            **context.added,
        },
        PaperBundle,
        lambda: _bundle(opened, contents, context),
        _visible_counts,
        keep=lambda _: contents.nodes.final,
    )
    if context.model is not None:
        cost = context.model.spent(opened.identity) or 0.0
        bundle = bundle.model_copy(update={"paper": bundle.paper.model_copy(update={"cost_usd": cost})})
    notes = (
        *document.warnings,
        *(checkout.notes if checkout else ()),
        *_unread_files(opened.codebase),
        *contents.nodes.notes,
        *contents.incomplete,
        *_advice(bundle, context, document),
    )
    return Built(bundle, tuple(cache.reports), notes, contents.stopped)


def open_paper(
    paper: str | Path, repository: str | None, context: BuildContext, given_id: str | None = None
) -> tuple[OpenedPaper, Checkout | None]:
    """Fetches and parses a paper and its repository. Stores the repository's symbols. Raises `InputError` and
    `StoreError`."""
    started = time.perf_counter()
    context.notify(Begun(stage="parse"))
    found = find_paper(str(paper), context.sources)
    document = found.described(context.parsers.paper(found.path))
    if context.guard is not None:
        _refuse(str(paper), context.guard.paper(document.arxiv_id, document.doi, document.title))
    parsing = time.perf_counter() - started
    identity = given_id or id_of(document, found.path)
    if context.claims is not None:
        identity = context.claims.claim(document, identity, chosen=given_id is not None)
    cache = StageCache(context.settings.kg / "work" / folder_name(identity), context.notify)
    cache.report(StageReport(name="parse", seconds=parsing, reused=False, summary=_outline(document)))
    checkout, codebase = _repository(cache, repository, context)
    # Excerpts are offsets into the document, so reading them requires the document's text.
    cache.retain("document", document_key(document.source_sha256, pipeline_version()), document)
    source: dict[str, object] = {"paper": identity, "document": document.source_sha256, "format": document.format}
    if codebase is not None:
        source |= {"repository": codebase.repository.id, "embedding": context.settings.embedding.vectors}
    written = f"{document.year}-12-31" if document.year else None
    if checkout is not None:
        written = checkout.written or written
    return OpenedPaper(identity, found.path, document, codebase, written, source, cache), checkout


def id_of(document: Document, path: Path) -> str:
    """Returns the default id for a paper. Raises `InputError` if it has no arXiv id, DOI or title, because file
    names do not identify a paper."""
    if not (document.title or document.arxiv_id or document.doi):
        raise InputError(f"{path.name}: no title found; pass --id, such as --id title:{slug(path.stem)}")
    if not (document.arxiv_id or document.doi) and _SUPPLEMENT.fullmatch(document.title.strip(" .:")):
        raise InputError(f"{path.name}: {document.title!r} is not a paper title; pass --id, such as --id title:NAME")
    return paper_id(document.title, document.arxiv_id, document.doi)


def _refuse(spec: str, reason: str | None) -> None:
    if reason is not None:
        raise InputError(f"{spec} is excluded: {reason}; build it without --blacklist, or correct the blacklist")


def _outline(document: Document) -> str:
    return (
        f"{len(document.walk())} sections, {len(document.equations)} equations, "
        f"{len(document.algorithms)} algorithms, {len(document.references)} references"
    )


def _repository(
    cache: StageCache, repository: str | None, context: BuildContext
) -> tuple[Checkout, Codebase] | tuple[None, None]:
    if repository is None:
        return None, None
    if context.guard is not None:
        _refuse(repository, context.guard.repository(repository))
    checkout = cache.timed(
        "fetch",
        lambda: fetch_repository(repository, context.settings.kg / "repositories", context.roots),
        lambda c: (f"{c.repository.id}, {len(c.files)} files", False),
    )
    if context.guard is not None:
        _refuse(repository, context.guard.copy(checkout))
    codebase = cache.stage(
        "symbols",
        {"repository": checkout.repository.id},
        Codebase,
        lambda: context.parsers.repository(checkout),
        lambda c: ", ".join(
            [f"{len(c.modules)} modules", f"{len(c.symbols())} symbols"]
            + [f"{s.count} {s.reason} skipped" for s in c.skipped]
        ),
    )
    return checkout, codebase.model_copy(update={"repository": _licensed(checkout, codebase)})


def _licensed(checkout: Checkout, codebase: Codebase) -> Repository:
    repository, names = checkout.repository, {file.path: file.path.rpartition("/") for file in checkout.files}
    chosen = [path for path, (_, _, name) in names.items() if FILE_NAME.match(name) or NOTICE.match(name)]
    chosen.sort(key=lambda path: path.count("/"))
    found = checkout.read(chosen[:_MOST_LICENSES])
    texts = {path: content.decode("utf-8", "replace") for path, content in found if content}
    folders = {
        names[path][0]: spdx(text) for path, text in texts.items() if "/" in path and FILE_NAME.match(names[path][2])
    }
    files = [(module.path, module.text) for module in codebase.modules]
    parents = {"", *(str(parent) for path, _ in files for parent in PurePosixPath(path).parents)}
    own = file_licenses(repository.license, folders, files)
    kept = {path: text for path, text in texts.items() if names[path][0] in parents and len(text) <= _LARGEST_LICENSE}
    return repository.model_copy(update={"file_licenses": own, "license_texts": kept})


def _visible_counts(bundle: PaperBundle) -> str:
    visible = sum(t.hidden is None for t in bundle.techniques)
    return f"{plural(visible, 'technique')} shown, {len(bundle.techniques) - visible} hidden"


def _bundle(opened: OpenedPaper, contents: Contents, context: BuildContext) -> PaperBundle:
    document, codebase, nodes = opened.document, opened.codebase, contents.nodes
    techniques = contents.extraction.techniques
    subfield = document.subfield or contents.extraction.subfield
    if codebase is not None:
        located = dict.fromkeys(contents.grounding.certain, "located")
        located |= dict.fromkeys(contents.grounding.doubtful, "doubtful")
        techniques = tuple(t.model_copy(update={"grounding": located.get(t.id, "none")}) for t in techniques)
    bundle = PaperBundle(
        paper=Paper(
            id=opened.identity,
            title=document.title or opened.path.stem,
            abstract=document.abstract,
            authors=document.authors,
            year=document.year,
            arxiv_id=document.arxiv_id,
            arxiv_version=document.arxiv_version,
            domain=subfield.partition(".")[0] if subfield else None,
            subfield=subfield,
            references=document.references,
            code_files=codebase.files if codebase else (),
            code_overview=contents.overview or (codebase.readme if codebase else ""),
            nothing_in=tuple(contents.nothing_in),
            origin="build",
            state="partial" if contents.incomplete else "complete",
            incomplete=tuple(contents.incomplete),
            source_sha256=document.source_sha256,
            pipeline_version=pipeline_version(),
            packages=context.packages,
            cpu=context.cpu,
            built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        ),
        techniques=techniques,
        code=nodes.code,
        repositories=(codebase.repository,) if codebase else (),
        symbols=tuple(s.symbol for s in codebase.symbols().values()) if codebase else (),
        locations=contents.grounding.locations,
        derivations=nodes.derivations,
        findings=contents.extraction.findings,
        resources=contents.extraction.resources,
    )
    return pruned(bundle, context.settings.prune.min_level, needs_code=context.model is not None)


def _unread_files(codebase: Codebase | None) -> list[str]:
    if codebase is None:
        return []
    named = deadly(codebase)
    stopped = [f"files in the repository were not read: {named}"] if named else []
    return [*stopped, *elsewhere(codebase)]


def _advice(bundle: PaperBundle, context: BuildContext, document: Document) -> list[str]:
    if not bundle.repositories:
        named = [link for link in links_of(document) if link.role != "cited"]
        offer = f"; the paper mentions {named[0].url}; add --repo {named[0].url}, or --repo auto" if named else ""
        return [f"no repository was given (--repo), so techniques have no code{offer}"]
    if context.runner is None:
        return ["nothing was run: there is no sandbox on this machine, so no level is above 'parsed' (xkg doctor)"]
    last = [node.evidence[-1] for node in bundle.code if node.evidence]
    lacking = sum(
        evidence.exit_code not in (0, None) and names_cuda(evidence.output_end, on_cpu=context.cpu) for evidence in last
    )
    if lacking:
        return [f"{plural(lacking, 'code node')} failed because CUDA is missing: {cuda_remedy((), on_cpu=context.cpu)}"]
    return []
