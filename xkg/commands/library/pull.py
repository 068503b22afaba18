"""`xkg pull`: pulls papers from a library into the graph."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xkg.attestations.bundles import detach, received
from xkg.attestations.trust import trusted
from xkg.blacklist import Blacklist, read_blacklist
from xkg.commands.graph.open import embedder, open_store
from xkg.config import Settings
from xkg.errors import InputError, StoreBusyError, UnknownIdError, XkgError
from xkg.files import private_folder, said_when_full
from xkg.library.heads import files_of, note, open_head
from xkg.library.layout import Row
from xkg.library.licences import blacklisted
from xkg.library.open import open_place, whole_address
from xkg.library.packages import Contents, contents, put_vectors, unpack
from xkg.library.places import AT_ONCE, Place, download, shown
from xkg.library.selection import chosen, named, newest
from xkg.library.state import FOLDER, Seen, SeenPaper
from xkg.model import Level, PaperBundle
from xkg.store import bundles
from xkg.text.plural import plural
from xkg.value import Value

if TYPE_CHECKING:
    from xkg.store.graph_store import GraphStore

Notify = Callable[[str, int, int, str], None]
"""The name of a step, the number done, the total (0 if unknown), and the current item."""
_BATCH_PAPERS, _BATCH_BYTES = 1000, 64 << 20
"""Papers that are in memory and published at a time."""
_LISTED = 20


class PulledPapers(Value):
    """`papers` are those that the graph now shows as the library has them, `kept` has a line for each paper whose own
    version the graph still shows, `problems` one for each that was not pulled, with the reason. `signer` is the
    fingerprint of the key that signed the head of the library, `sample` gives the result of code that was run first."""

    place: str
    papers: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    signer: str | None = None
    sample: str = ""
    generation: int = 0

    @property
    def left_out(self) -> tuple[str, ...]:
        return self.problems

    @property
    def failure(self) -> XkgError | None:
        return InputError(f"papers left out: {len(self.problems)}; the others were pulled") if self.problems else None

    def __str__(self) -> str:
        lines = [self.sample] if self.sample else []
        lines += [f"pulled: {paper}" for paper in self.papers[:_LISTED]]
        lines += [f"and {len(self.papers) - _LISTED} more"] if len(self.papers) > _LISTED else []
        lines += [f"kept: {line}" for line in self.kept]
        by = f"signed by {self.signer}" if self.signer else "not signed: anyone who can write there can change it"
        count = f"{plural(len(self.papers), 'paper')} pulled from {self.place} ({by})"
        return "\n".join([*lines, f"{count}; the graph is generation {self.generation}"])


class _Taken(NamedTuple):
    """`show` is the bundle for the graph, None if the graph keeps its own; `kept` says why."""

    contents: Contents
    state: SeenPaper
    show: PaperBundle | None
    kept: str = ""


def pull(
    settings: Settings,
    place: str,
    papers: Sequence[str] = (),
    *,
    topic: str = "",
    level: Level | None = None,
    verify: int = 0,
    blacklist: Path | None = None,
    prefer: bool = False,
    notify: Notify = lambda *_: None,
) -> PulledPapers:
    """Pulls new papers from the library at `place`: the named ones, or those with every word of `topic` in their title
    or the names of their techniques, or with code that is claimed to be of `level` or above; all if none of these is
    given. Levels are claims until a trusted key attests them or they are verified here; with `verify`, this many of the
    new code nodes are run first, and nothing is pulled if one fails. If the graph has a paper already, the better
    proven one is shown, with `prefer` the library's; the other one is kept in a file. Nothing on the `blacklist` is
    pulled. An interrupted pull continues if it is called again.

    Raises `UnknownIdError`, `UnreachableError`, `UnsafeInputError` for a library that was tampered with, and the errors
    of `GraphStore.publish`."""
    excluded = read_blacklist(blacklist) if blacklist is not None else Blacklist()
    place = whole_address(place)
    wanted = f"{level or ''} {topic}".strip()
    with ExitStack() as opened:
        seen = opened.enter_context(Seen(settings.kg, place))
        if not opened.enter_context(seen.alone()):
            raise StoreBusyError(
                f"another process pulls papers from {shown(place)} into this graph; wait until it is done"
            )
        library = open_place(place, settings.kg / FOLDER)
        opened.callback(library.close)
        pool = opened.enter_context(ThreadPoolExecutor(AT_ONCE))
        store = opened.enter_context(open_store(settings))
        at = open_head(library, seen)
        if at.data is None:
            raise UnknownIdError(f"{library.name} has no library yet: push a paper there, or check the address")
        files = files_of(library)
        if papers:
            rows = [named(files, at.head, paper, library.name) for paper in papers]
        else:
            read = seen.head().entries
            rows = newest(files.since(at.head, max(read.get("", 0), read.get(wanted, 0)), pool.map))
        rows = chosen(newest(rows), topic, level)
        if not papers:  # a paper that is named may have been removed here
            rows = [row for row in rows if _is_new(row, seen.paper(row.paper))]
        puller = _Puller(settings, store, library, seen, pool, excluded, prefer=prefer)
        with said_when_full(settings.kg, "free space, then pull again"):
            for batch in _batches(rows):
                notify("taking papers", puller.done, len(rows), library.name)
                puller.take(batch, verify, notify)
        note(seen, at, None if papers or puller.problems else wanted)
        with store.snapshot() as snapshot:
            generation = snapshot.generation
    return PulledPapers(
        place=library.name,
        papers=tuple(puller.papers),
        kept=tuple(puller.kept),
        problems=tuple(puller.problems),
        signer=at.signer,
        sample="\n".join(puller.samples),
        generation=generation,
    )


def _is_new(row: Row, known: SeenPaper | None) -> bool:
    version = row.versions[0]
    names = {package.name for package in version.packages}
    return known is None or known.content != version.content or not names <= set(known.packages)


def _batches(rows: Sequence[Row]) -> list[list[Row]]:
    batches: list[list[Row]] = []
    size = 0
    for row in rows:
        own = sum(package.size for package in row.versions[0].packages)
        if not batches or len(batches[-1]) >= _BATCH_PAPERS or size + own > _BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(row)
        size += own
    return batches


def _base(row: Row, known: SeenPaper | None, stored: PaperBundle | None) -> PaperBundle | None:
    """The paper as it is stored, if that is the library's present version."""
    if known is None or stored is None or known.content != row.versions[0].content:
        return None
    return stored if bundles.sha256(detach(stored)[0]) == known.stored else None


class _Puller:
    """Pulls papers in batches: each batch is fetched, checked, published, and only then noted as seen."""

    def __init__(
        self,
        settings: Settings,
        store: "GraphStore",
        library: Place,
        seen: Seen,
        pool: ThreadPoolExecutor,
        excluded: Blacklist,
        *,
        prefer: bool,
    ) -> None:
        self._settings, self._store, self._library, self._seen = settings, store, library, seen
        self._pool, self._excluded, self._prefer = pool, excluded, prefer
        self._fetched = seen.folder / "packages"
        private_folder(self._fetched)
        self.done = 0
        self.papers: list[str] = []
        self.kept: list[str] = []
        self.problems: list[str] = []
        self.samples: list[str] = []

    def take(self, rows: Sequence[Row], verify: int, notify: Notify) -> None:
        with self._store.snapshot() as snapshot:
            present = snapshot.headings([row.paper for row in rows])
            stored = {paper: snapshot.bundle(paper) for paper in present}
        known = {row.paper: self._seen.paper(row.paper) for row in rows}
        bases = {row.paper: _base(row, known[row.paper], stored.get(row.paper)) for row in rows}
        fetching = [self._pool.submit(self._fetch, row, known[row.paper], bases[row.paper]) for row in rows]
        taken: list[_Taken] = []
        for row, fetched in zip(rows, fetching, strict=True):
            try:
                parts = [part for path in fetched.result() for part in unpack(path.read_bytes())]
                found = contents(parts, row.paper, row.versions[0], self._library.name, bases[row.paper])
                if (reason := blacklisted(found.bundle, self._excluded)) is not None:
                    self.problems.append(f"{row.paper}: {reason}")
                    continue
                taken.append(self._decided(row, found, known[row.paper], stored.get(row.paper)))
            except InputError as error:
                self.problems.append(f"{row.paper}: {error}")
        show = [each.show for each in taken if each.show is not None]
        if verify and show:
            show = self._verified(show, verify, notify)
            proven = {bundle.paper.id: bundles.sha256(detach(bundle)[0]) for bundle in show}
            taken = [
                each._replace(state=each.state.model_copy(update={"stored": proven[each.contents.bundle.paper.id]}))
                if each.state.stored and each.show is not None
                else each
                for each in taken
            ]
        with embedder(self._settings) as vectors:
            put_vectors((each.contents for each in taken), vectors)
        if show:
            notify("indexing", 0, 0, plural(len(show), "paper"))
            self._store.publish(show)
        if measured := [ablation for each in taken for ablation in each.contents.ablations]:
            self._store.add_ablations(measured)
        self._seen.keep_papers({each.contents.bundle.paper.id: each.state for each in taken})
        self.papers += [each.show.paper.id for each in taken if each.show is not None and each.state.stored]
        self.kept += [each.kept for each in taken if each.kept]
        self.done += len(rows)
        for path in self._fetched.iterdir():
            if path.suffix != ".part":  # the next pull continues with those
                path.unlink(missing_ok=True)

    def _fetch(self, row: Row, known: SeenPaper | None, base: PaperBundle | None) -> list[Path]:
        """The packages of a paper; of one that is here, those that came later."""
        here = known.packages if known is not None and base is not None else ()
        wanted = [package for package in row.versions[0].packages if package.name not in here]
        return [download(self._library, package, self._fetched) for package in wanted]

    def _decided(self, row: Row, found: Contents, known: SeenPaper | None, stored: PaperBundle | None) -> _Taken:
        theirs = received(found.bundle, found.envelopes, stored)
        version = row.versions[0]
        state = SeenPaper(
            content=version.content,
            packages=tuple(package.name for package in version.packages),
            stored=bundles.sha256(detach(theirs)[0]),
        )
        here = "" if stored is None else bundles.sha256(detach(stored)[0])
        if stored is None or here == state.stored:
            return _Taken(found, state, theirs if theirs != stored else None)
        from_there = known is not None and known.stored == here
        if from_there or self._prefer or _proof(theirs) > _proof(stored):
            kept = "" if from_there else self._keep(self._settings.kg / FOLDER / "local", stored)
            line = f"{row.paper} as it was here, in {kept}; the library's is better proven" if kept else ""
            return _Taken(found, state, theirs, line)
        kept = self._keep(self._seen.folder / "kept", received(found.bundle, found.envelopes))
        theirs = received(stored, found.envelopes, stored)  # attestations of the same code count for it too
        line = f"{row.paper} as it is here, which is proven as well; the library's is in {kept}"
        return _Taken(found, state.model_copy(update={"stored": ""}), theirs if theirs != stored else None, line)

    def _keep(self, folder: Path, bundle: PaperBundle) -> str:
        private_folder(folder)
        return str(folder / bundles.write(folder, bundle).name)

    def _verified(self, show: list[PaperBundle], number: int, notify: Notify) -> list[PaperBundle]:
        from xkg.commands.verify import verify_sample

        sample = verify_sample(self._settings, show, number, notify=lambda event: notify("verifying", 0, 0, str(event)))
        if sample.failed:
            failed = "; ".join(f"{each.code} claims {each.before}, reached {each.level}" for each in sample.failed[:3])
            raise InputError(
                f"{len(sample.failed)} of {sample.verified} code nodes of {self._library.name} do not reach their "
                f"level ({failed}): none of these papers was pulled"
            )
        self.samples.append(str(sample))
        return list(sample.bundles)


def _proof(bundle: PaperBundle) -> int:
    """The sum of the ranks of the levels that were proven here or by trusted keys."""
    trust = trusted()
    return sum(trust.seen(code).level.rank for code in bundle.code)
