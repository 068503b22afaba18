"""What a curation gives: the papers that are worth building around a target, each with its repository, and why."""

from typing import Literal

from pydantic import Field

from xkg.model import Repository
from xkg.value import Value


class CoreTechnique(Value):
    """A technique that the target is made of. `why` is what speaks for it: the model's words, or where the paper has
    it."""

    name: str
    definition: str = ""
    why: str = ""


class Mention(Value):
    """A sentence of the target that cites a paper; `together` counts the works that it cites at once."""

    section: str
    role: str
    sentence: str
    together: int = 1


class RepositoryRecord(Value):
    """What is recorded with a repository that was found for a paper: whether it is the paper's own, and what its host
    says of it, None for what that was not asked. `commit` is the newest of the default branch."""

    is_official: bool = False
    commit: str | None = None
    license: str | None = None
    stars: int | None = None
    archived: bool | None = None
    default_branch: str | None = None

    def on(self, repository: Repository) -> Repository:
        """The repository with this record. It follows the default branch where it was fetched at the newest commit."""
        newest = self.commit is not None and repository.reference == self.commit
        update = {
            "is_official": repository.is_official or self.is_official,
            "license": repository.license or self.license,
            "stars": self.stars,
            "archived": self.archived,
            "default_branch": self.default_branch,
            "reference": None if newest else repository.reference,
        }
        return repository.model_copy(update=update)


class ChosenRepository(Value):
    """A repository and what speaks for and against it as the paper's own, a line each. `is_official` is None where that
    stays open; `is_named` says that the paper calls it its own, `found` where its address comes from. Stars, days and
    size as in `RepositoryFacts`."""

    url: str
    commit: str | None = None
    default_branch: str = ""
    license: str | None = None
    stars: int | None = None
    archived: bool | None = None
    size_kb: int | None = None
    created: str | None = None
    committed: str | None = None
    is_official: bool | None = None
    score: float = 0.0
    evidence: tuple[str, ...] = ()
    is_named: bool = False
    found: str = ""

    @property
    def spec(self) -> str:
        """As `xkg build --repo` takes it."""
        return f"{self.url}@{self.commit}" if self.commit else self.url

    @property
    def record(self) -> RepositoryRecord:
        return RepositoryRecord(
            is_official=bool(self.is_official),
            commit=self.commit,
            license=self.license,
            stars=self.stars,
            archived=self.archived,
            default_branch=self.default_branch or None,
        )


class CuratedPaper(Value):
    """A candidate. `score` is what it is ranked by, `scores` its parts, all in 0..1; `technique` is the one it serves;
    `origin`: the target cites it, a search of an index found it, or a model's own search of the web. `identified` says
    how its arXiv id was found; `why` are the model's words, or the facts that rank it. `dropped` is the reason why it
    is left out, None where it is chosen; `repositories` are all that were looked at, its own one first where there is
    one."""

    title: str
    arxiv_id: str | None = None
    authors: tuple[str, ...] = ()
    published: str | None = None
    origin: Literal["reference", "search", "model"]
    source: str = ""
    technique: str = ""
    score: float = 0.0
    scores: dict[str, float] = Field(default={})
    identified: str = ""
    why: str = ""
    mentions: tuple[Mention, ...] = ()
    repositories: tuple[ChosenRepository, ...] = ()
    dropped: str | None = None

    @property
    def repository(self) -> ChosenRepository | None:
        """The paper's own."""
        first = self.repositories[0] if self.repositories else None
        return first if first is not None and first.is_official else None


class CuratedSet(Value):
    """The outcome for one target: `papers` in the order of their rank, and those that were `dropped`. `by` is the
    language model that decided, None where none was asked; `notes` are for a person: sources that could not be
    asked, limits that were met."""

    target: str
    title: str
    techniques: tuple[CoreTechnique, ...] = ()
    papers: tuple[CuratedPaper, ...] = ()
    dropped: tuple[CuratedPaper, ...] = ()
    by: str | None = None
    notes: tuple[str, ...] = ()

    def pairs(self) -> tuple[tuple[str, str, RepositoryRecord], ...]:
        """Papers and repositories as `xkg build --paper … --repo …` takes them, and what is recorded with these."""
        return tuple(
            (f"arxiv:{paper.arxiv_id}", paper.repository.spec, paper.repository.record)
            for paper in self.papers
            if paper.arxiv_id is not None and paper.repository is not None
        )
