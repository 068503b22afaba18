"""Where the parts of the house meet: settings become a store, an embedder and a sandbox, and the jobs of the commands
are done with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xkg.config import Settings
from xkg.errors import CorruptStoreError, SandboxUnavailableError, StoreError, UnknownIdError

if TYPE_CHECKING:  # what is heavy is imported by the job that needs it
    from xkg.build.pipeline import Built
    from xkg.build.stages import StageReport
    from xkg.embed import Embedder
    from xkg.embed_cache import CachedEmbedder
    from xkg.model import PaperBundle
    from xkg.sandbox import Runner
    from xkg.store.embedded import EmbeddedStore


def embedder(settings: Settings) -> "CachedEmbedder":
    """The embedder in force behind the graph's cache; the model is loaded by the first text that misses it."""
    from xkg.embed_cache import CachedEmbedder

    def make() -> "Embedder":
        from xkg.embed import OnnxEmbedder

        return OnnxEmbedder(settings.embedding.weights, settings.embedding.model, settings.embedding.threads)

    return CachedEmbedder(make, settings.kg / "embeddings.sqlite", settings.embedding.model)


def open_store(settings: Settings) -> "EmbeddedStore":
    """The store of the graph in force. Opening reads nothing."""
    from xkg.store.embedded import EmbeddedStore

    return EmbeddedStore(settings.kg, lambda: embedder(settings), model=settings.embedding.model)


@dataclass(frozen=True)
class BuildResult:
    """What a build gave; `generation` is the one that shows it, `published` False where it already did."""

    built: "Built"
    generation: int
    published: bool


def build(
    settings: Settings,
    paper: Path,
    repository: str | None,
    *,
    given_id: str | None = None,
    notify: "Callable[[StageReport], None]" = lambda _: None,
) -> BuildResult:
    """Builds one paper and publishes it, unless the graph already holds exactly that.

    Raises what `build_paper` and `EmbeddedStore.publish` raise."""
    from xkg.build.pipeline import Workshop, build_paper
    from xkg.sandbox.environment import UvEnvironments

    _require_folder(settings.kg)
    runner = _runner(settings)
    shop = Workshop(
        settings, embedder(settings), UvEnvironments(settings.kg / "environments", settings.environment), runner, notify
    )
    built = build_paper(paper, repository, shop, given_id=given_id)
    store = open_store(settings)
    known = _stored(store, built.bundle.paper.id)
    if known is not None and known[1] == built.bundle:
        return BuildResult(built, known[0], published=False)
    return BuildResult(built, store.publish([built.bundle]), published=True)


def _require_folder(folder: Path) -> None:
    """Refuses a folder that cannot be written before any work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made ({error.strerror}): give another folder with --kg") from error


def _runner(settings: Settings) -> "Runner | None":
    """None where nothing here can contain code; a runner that was asked for in words and is not there is an error."""
    from xkg.sandbox.choose import runner_for

    try:
        return runner_for(settings.sandbox)
    except SandboxUnavailableError:
        return None


def _stored(store: "EmbeddedStore", paper: str) -> "tuple[int, PaperBundle] | None":
    with store.snapshot() as snapshot:
        try:
            return snapshot.generation, snapshot.bundle(paper)
        except (UnknownIdError, CorruptStoreError):
            return None


@dataclass(frozen=True)
class ImportResult:
    """Papers that came in, and one line for each file that did not."""

    papers: Sequence[str]
    problems: Sequence[str]
    generation: int


def import_graphs(settings: Settings, folder: Path) -> ImportResult:
    """Publishes every readable graph file of a folder in one step: the peer's JSON, and bundles."""
    from xkg.sandbox.levels import check_parsed
    from xkg.store.exchange import read_folder

    bundles, problems = read_folder(folder, check_parsed)
    generation = open_store(settings).publish(bundles) if bundles else 0
    return ImportResult([b.paper.id for b in bundles], problems, generation)


def export_graphs(
    settings: Settings, papers: Sequence[str], to: Path, kind: Literal["peer", "bundle"]
) -> Sequence[Path]:
    """Writes the named papers (none: all) into a folder, one file each, and gives the files."""
    from xkg.store.exchange import write_folder

    with open_store(settings).snapshot() as snapshot:
        wanted = list(papers) or [p.id for p in snapshot.papers()]
        if not wanted:
            raise UnknownIdError(f"{settings.kg} holds no paper yet; build or import one first")
        return write_folder((snapshot.bundle(paper) for paper in wanted), to, kind)
