"""Implements `xkg push`, which adds papers from the graph to a library."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from xkg.attestations.bundles import detach
from xkg.blacklist import Blacklist, read_blacklist
from xkg.commands.graph.open import chosen_papers, embedder, open_store
from xkg.config import Settings
from xkg.embeddings.cache import CachedEmbedder
from xkg.errors import InputError, XkgError
from xkg.library.heads import Change, add, files_of, open_head
from xkg.library.layout import Package, Row, Version, path_of
from xkg.library.licences import blacklisted, unlicensed, without_code
from xkg.library.open import open_place, whole_address
from xkg.library.packages import pack, parts_of
from xkg.library.places import AT_ONCE, patiently
from xkg.library.state import FOLDER, Seen, SeenPaper
from xkg.model import Ablation, PaperBundle, paper_of
from xkg.store import bundles
from xkg.store.index_entries import encodable
from xkg.text.plural import plural
from xkg.value import Value

_NAMES = 200
"""Maximum number of technique names per paper in the log. `--topic` searches these names."""


class PushedPapers(Value):
    """The result of a push. `papers` lists the papers for which the library received new data. `unchanged` counts the
    papers that the library already had. `left_out` has one line for each paper that was not pushed, with the reason."""

    place: str
    papers: tuple[str, ...]
    unchanged: int
    left_out: tuple[str, ...] = ()

    @property
    def failure(self) -> XkgError | None:
        ways = "use --claims-only to push them without code, or --allow-unlicensed if their licence is unknown"
        return InputError(f"papers left out: {len(self.left_out)}; {ways}") if self.left_out else None

    def __str__(self) -> str:
        lines = [f"pushed: {paper}" for paper in self.papers]
        total = f"{plural(len(self.papers), 'paper')} pushed to {self.place}, {self.unchanged} already there"
        return "\n".join([*lines, total + (f", {len(self.left_out)} left out" if self.left_out else "")])


def push(
    settings: Settings,
    place: str,
    papers: Sequence[str] = (),
    *,
    claims_only: bool = False,
    allow_unlicensed: bool = False,
    blacklist: Path | None = None,
    notify: Callable[[str, int, int, str], None] = lambda *_: None,
) -> PushedPapers:
    """Adds the named papers (default: all) to the library at `place`, with their vectors, ablations and attestations.
    Skips papers on the blacklist and, unless `allow_unlicensed` is set, papers whose code has an unknown licence. If
    `claims_only` is set, pushes only definitions and code locations, not the code itself. `notify` receives the name of
    a step, the number done, the total, and the current item.

    Raises `UnknownIdError` if a paper is unknown, `InputError` if the place is not writable, and `UnreachableError` if
    it cannot be reached."""
    excluded = read_blacklist(blacklist) if blacklist is not None else Blacklist()
    place = whole_address(place)
    with ExitStack() as opened:
        store = opened.enter_context(open_store(settings))
        snapshot = opened.enter_context(store.snapshot())
        seen = opened.enter_context(Seen(settings.kg, place))
        library = open_place(place, settings.kg / FOLDER)
        opened.callback(library.close)
        vectors = opened.enter_context(embedder(settings))
        chosen = chosen_papers(store, snapshot, papers)
        head, files = open_head(library, seen).head, files_of(library)
        measured: dict[str, list[Ablation]] = {}
        for ablation in store.ablations():
            measured.setdefault(paper_of(ablation.technique), []).append(ablation)
        left_out: list[str] = []
        added: list[Change] = []
        sent: dict[str, SeenPaper] = {}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting = []
            for number, paper in enumerate(chosen):
                notify("reading", number, len(chosen), paper)
                bundle = snapshot.bundle(paper)
                reason = blacklisted(bundle, excluded)
                if reason is None and not (claims_only or allow_unlicensed):
                    reason = unlicensed(bundle)
                if reason is not None:
                    left_out.append(f"{paper}: {reason}")
                    continue
                row, ablations = files.row(head, paper), measured.get(paper, [])
                found = _change(bundle, ablations, row, seen.paper(paper), vectors, claims_only=claims_only)
                if found is not None:
                    change, data, sent[paper] = found
                    added.append(change)
                    path = path_of(change.row.versions[0].packages[0].name)
                    waiting.append(pool.submit(patiently, library, partial(library.write, path, data)))
                if len(waiting) >= 4 * AT_ONCE:  # waiting packages are held in memory
                    waiting.pop(0).result()
            for each in waiting:
                each.result()
        # Do this even if nothing has changed, because a signed head may need a new signature.
        add(library, added, seen, lambda what: notify("writing", 0, 0, what))
        seen.keep_papers(sent)
    return PushedPapers(
        place=library.name,
        papers=tuple(change.row.paper for change in added),
        unchanged=len(chosen) - len(added) - len(left_out),
        left_out=tuple(left_out),
    )


def _change(
    bundle: PaperBundle,
    ablations: Sequence[Ablation],
    row: Row | None,
    known: SeenPaper | None,
    vectors: CachedEmbedder,
    *,
    claims_only: bool,
) -> tuple[Change, bytes, SeenPaper] | None:
    """Returns a change for the library, and a package with the parts of a paper that the library lacks. Returns None if
    the library already has all parts. `row` describes the library's version."""
    bare, envelopes = detach(bundle)
    stored = bundles.sha256(bare)
    if claims_only:
        bare, envelopes = without_code(bare), ()
        ablations = [each.model_copy(update={"diff": ""}) for each in ablations]
    there = {version.content: version for version in row.versions} if row is not None else {}
    # If a bundle came from this library, its levels in the graph differ from its levels in the library.
    content = (
        known.content if known is not None and known.stored == stored and not claims_only else bundles.sha256(bare)
    )
    version = there.get(content)
    parts = parts_of(bare, envelopes, ablations, vectors)
    if version is not None:
        parts = [part for part in parts if part.mark and part.mark not in version.holds]
        if not parts:
            return None
    data = pack(parts)
    package = Package(
        name=hashlib.sha256(data).hexdigest(), size=len(data), holds=tuple(part.mark for part in parts if part.mark)
    )
    paper, followed = bare.paper, [each for each in bare.repositories if each.commit]
    new = Version(
        content=content,
        packages=(package,),
        levels=dict(Counter(code.level.value for code in bare.code)) if version is None else version.levels,
        arxiv_version=paper.arxiv_version,
        commits=tuple(f"{each.name}@{each.commit}" for each in followed),
        pushed=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    names = tuple(encodable(each.name) for each in bare.techniques if each.hidden is None)
    row = Row(
        paper=encodable(paper.id), title=encodable(paper.title), year=paper.year, versions=(new,), names=names[:_NAMES]
    )
    change = Change(row=row, seen=() if known is None else (known.content,))
    packages = (*(each.name for each in (version.packages if version else ())), package.name)
    return change, data, SeenPaper(content=content, packages=packages, stored=stored)
