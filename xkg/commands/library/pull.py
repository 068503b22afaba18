"""Implements `xkg pull`, which pulls papers from a library into the graph."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from xkg.attestations.bundles import detach, received
from xkg.attestations.trust import trusted
from xkg.blacklist import Blacklist, read_blacklist
from xkg.commands.graph.open import embedder, open_store
from xkg.config import Settings
from xkg.errors import InputError, StoreBusyError, UnknownIdError, XkgError
from xkg.files import private_folder, said_when_full
from xkg.library.heads import files_of, note, open_head
from xkg.library.layout import Package, Row
from xkg.library.licences import blacklisted
from xkg.library.open import open_place, whole_address
from xkg.library.packages import Contents, contents, put_vectors, unpack
from xkg.library.places import AT_ONCE, Place, download, shown
from xkg.library.selection import chosen, named, newest
from xkg.library.state import FOLDER, Seen, SeenPaper
from xkg.model import Ablation, Level, PaperBundle
from xkg.store import bundles
from xkg.store.graph_store import GraphStore, Snapshot
from xkg.text.plural import plural
from xkg.value import Value

Notify = Callable[[str, int, int, str], None]
"""A callback that receives the name of a step, the number done, the total (0 if unknown), and the current item."""
_TOGETHER = 50
"""The maximum number of papers in memory at a time. The papers' vectors are stored in one transaction."""
_LISTED = 20


class PulledPapers(Value):
    """The result of a pull. The graph now shows the library's version of each paper in `papers`. `kept` has a line for
    each version that was kept in a file, and `problems` explains for each missing paper why it was not pulled. `signer`
    is the fingerprint of the key that signed the library's head. `sample` describes the results of the sampled code,
    which was run first."""

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
        by = f"signed by {self.signer}" if self.signer else "not signed: anyone with write access can change it"
        count = f"{plural(len(self.papers), 'paper')} pulled from {self.place} ({by})"
        return "\n".join([*lines, f"{count}; the graph is generation {self.generation}"])


class _Fetched(NamedTuple):
    """A paper's packages. `is_later` is True if they are newer than the graph's packages for the same version."""

    row: Row
    is_later: bool
    packages: list[Path]


class _Taken(NamedTuple):
    """A bundle to publish in `show`. If the graph keeps its own bundle, `show` is None. `kept` describes the version
    that was kept in a file, if any."""

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
    """Pulls new papers from the library at `place`, all of them by default. `papers` selects papers by name. `topic`
    selects papers with all of these words in the title or technique names. `level` selects papers whose code is claimed
    to be at this level or above. Levels are claims until a trusted key attests them or this machine verifies them.
    `verify` is the number of new code nodes to run first. If any of these nodes fails, nothing is pulled. If the graph
    already contains a paper, it shows the version with more proven code, or the library's version if `prefer` is set.
    The other version is kept in a file. Papers on the `blacklist` are not pulled. To continue an interrupted pull, call
    this function again.

    Raises `UnknownIdError` if the library does not contain a paper, `UnreachableError` if the library cannot be
    reached, and `UnsafeInputError` if it was tampered with. Also raises the errors of `GraphStore.publish`."""
    excluded = read_blacklist(blacklist) if blacklist is not None else Blacklist()
    place = whole_address(place)
    wanted = f"{level or ''} {topic}".strip()
    with ExitStack() as opened:
        seen = opened.enter_context(Seen(settings.kg, place))
        if not opened.enter_context(seen.alone()):
            raise StoreBusyError(
                f"another process is pulling papers from {shown(place)} into this graph; wait until it is done"
            )
        library = open_place(place, settings.kg / FOLDER)
        opened.callback(library.close)
        pool = ThreadPoolExecutor(AT_ONCE)
        opened.callback(pool.shutdown, cancel_futures=True)
        store = opened.enter_context(open_store(settings))
        at = open_head(library, seen)
        if at.data is None:
            raise UnknownIdError(f"{library.name} has no library yet; push a paper there, or check the address")
        files = files_of(library)
        if papers:
            rows = [named(files, at.head, paper, library.name) for paper in papers]
        else:
            read = seen.head().entries
            rows = newest(files.since(at.head, max(read.get("", 0), read.get(wanted, 0)), pool.map))
        rows = chosen(newest(rows), topic, level)
        if not papers:  # a requested paper may have been removed from this graph
            rows = [row for row in rows if _is_new(row, seen.paper(row.paper))]
        puller = _Puller(settings, store, library, seen, pool, excluded, prefer=prefer, notify=notify)
        if rows:
            with said_when_full(settings.kg, "free space, then pull again"):
                puller.take(rows, verify)
        note(seen, at, None if papers or puller.problems else wanted)
        with store.snapshot() as snapshot:
            generation = snapshot.generation
    return PulledPapers(
        place=library.name,
        papers=tuple(puller.papers),
        kept=tuple(puller.kept),
        problems=tuple(f"{paper}: {problem}" for paper, problem in puller.problems.items()),
        signer=at.signer,
        sample=puller.sample,
        generation=generation,
    )


def _is_new(row: Row, known: SeenPaper | None) -> bool:
    version = row.versions[0]
    names = {package.name for package in version.packages}
    return known is None or known.content != version.content or not names <= set(known.packages)


class _Puller:
    """Downloads papers, publishes them, and records them as seen. Publishes all papers in one step, because each step
    repeats the indexing."""

    def __init__(
        self,
        settings: Settings,
        store: GraphStore,
        library: Place,
        seen: Seen,
        pool: ThreadPoolExecutor,
        excluded: Blacklist,
        *,
        prefer: bool,
        notify: Notify,
    ) -> None:
        self._settings, self._store, self._library, self._seen = settings, store, library, seen
        self._pool, self._excluded, self._prefer, self._notify = pool, excluded, prefer, notify
        self._folder = seen.folder / "packages"
        private_folder(self._folder)
        self._states: dict[str, SeenPaper] = {}
        self.papers: list[str] = []
        self.kept: list[str] = []
        self.problems: dict[str, str] = {}
        self.sample = ""

    def take(self, rows: Sequence[Row], verify: int) -> None:
        fetched = self._fetched(rows)
        proven = self._verified(fetched, verify) if verify else {}
        ablations: list[Ablation] = []
        self._notify("indexing", 0, 0, plural(len(fetched), "paper"))
        self._store.publish(self._shown(fetched, proven, ablations))
        if ablations:
            self._store.add_ablations(ablations)
        self._seen.keep_papers(self._states)
        for path in self._folder.iterdir():
            if path.suffix != ".part":  # the next pull resumes partial downloads
                path.unlink(missing_ok=True)

    def _fetched(self, rows: Sequence[Row]) -> list[_Fetched]:
        """Fetches the packages for each paper. If the graph already contains the paper, fetches only newer packages."""

        def packages(wanted: Sequence[Package]) -> list[Path]:
            return [download(self._library, package, self._folder) for package in wanted]

        waiting: list[tuple[Row, bool, Future[list[Path]]]] = []
        with self._store.snapshot() as snapshot:
            for row in rows:
                version, known = row.versions[0], self._seen.paper(row.paper)
                is_same = known is not None and known.content == version.content
                is_later = is_same and _is_as_pulled(known, _stored(snapshot, row.paper))
                here = known.packages if known is not None and is_later else ()
                wanted = [package for package in version.packages if package.name not in here]
                waiting.append((row, is_later, self._pool.submit(packages, wanted)))
        fetched = []
        for number, (row, is_later, future) in enumerate(waiting):
            self._notify("taking papers", number, len(rows), row.paper)
            try:
                fetched.append(_Fetched(row, is_later, future.result()))
            except InputError as error:
                self.problems[row.paper] = str(error)
        return fetched

    def _taken(self, fetched: Sequence[_Fetched]) -> Iterator[_Taken]:
        with self._store.snapshot() as snapshot:
            for row, is_later, paths in fetched:
                known, stored = self._seen.paper(row.paper), _stored(snapshot, row.paper)
                try:
                    if is_later and not _is_as_pulled(known, stored):
                        raise InputError("this graph's version changed during the pull; pull again")
                    parts = [part for path in paths for part in unpack(path.read_bytes())]
                    base = stored if is_later else None
                    found = contents(parts, row.paper, row.versions[0], self._library.name, base)
                    if (reason := blacklisted(found.bundle, self._excluded)) is not None:
                        raise InputError(reason)
                    yield self._decided(row, found, known, stored)
                except InputError as error:
                    self.problems[row.paper] = str(error)

    def _shown(
        self, fetched: Sequence[_Fetched], proven: Mapping[str, PaperBundle], ablations: list[Ablation]
    ) -> Iterator[PaperBundle]:
        """Stores the papers' vectors, and then yields the papers for the graph. `proven` contains the papers that were
        verified."""
        taken = self._taken(fetched)
        with embedder(self._settings) as vectors:
            while some := list(islice(taken, _TOGETHER)):
                put_vectors([each.contents for each in some], vectors)
                for each in some:
                    paper, state, show = each.contents.bundle.paper.id, each.state, each.show
                    if show is not None and paper in proven:
                        show = proven[paper]
                        sha256 = bundles.sha256(detach(show)[0])
                        state = state.model_copy(update={"stored": sha256 if state.stored else ""})
                    self._states[paper] = state
                    self.kept += [each.kept] if each.kept else []
                    ablations += each.contents.ablations
                    if show is not None:
                        self.papers += [paper] if state.stored else []
                        yield show

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
            line = f"the earlier version of {row.paper}, in {kept}; the graph now has the library's" if kept else ""
            return _Taken(found, state, theirs, line)
        kept = self._keep(self._seen.folder / "kept", received(found.bundle, found.envelopes))
        theirs = received(stored, found.envelopes, stored)  # attestations of the same code also apply to this version
        line = f"the graph's version of {row.paper}, which is at least as well proven; the library's is in {kept}"
        return _Taken(found, state.model_copy(update={"stored": ""}), theirs if theirs != stored else None, line)

    def _keep(self, folder: Path, bundle: PaperBundle) -> str:
        private_folder(folder)
        return str(folder / bundles.write(folder, bundle).name)

    def _verified(self, fetched: Sequence[_Fetched], number: int) -> dict[str, PaperBundle]:
        from xkg.commands.verify import verify_sample

        show = (each.show for each in self._taken(fetched) if each.show is not None)
        sample = verify_sample(
            self._settings, show, number, notify=lambda event: self._notify("verifying", 0, 0, str(event))
        )
        if sample.failed:
            failed = "; ".join(f"{each.code} claims {each.before}, reached {each.level}" for each in sample.failed[:3])
            raise InputError(
                f"{len(sample.failed)} of {sample.verified} code nodes from {self._library.name} do not reach their "
                f"level ({failed}): none of these papers was pulled"
            )
        self.sample = str(sample)
        return {bundle.paper.id: bundle for bundle in sample.bundles}


def _stored(snapshot: Snapshot, paper: str) -> PaperBundle | None:
    return snapshot.bundle(paper) if snapshot.headings([paper]) else None


def _is_as_pulled(known: SeenPaper | None, stored: PaperBundle | None) -> bool:
    return known is not None and stored is not None and known.stored == bundles.sha256(detach(stored)[0])


def _proof(bundle: PaperBundle) -> int:
    """Returns the sum of the ranks of all levels that were proven here or attested by trusted keys."""
    trust = trusted()
    return sum(trust.seen(code).level.rank for code in bundle.code)
