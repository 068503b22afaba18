"""Defines the result of a curation: papers worth building around a target, with their repositories and the reasons for
each choice."""

from typing import Literal

from pydantic import Field

from xkg.model import Repository
from xkg.value import Value


class CoreTechnique(Value):
    """One of the target's core techniques. `why` is the evidence: the model's explanation or a location in the
    paper."""

    name: str
    definition: str = ""
    why: str = ""


class Mention(Value):
    """A sentence in the target that cites a paper. `together` is the number of works cited together."""

    section: str
    role: str
    sentence: str
    together: int = 1


class RepositoryRecord(Value):
    """Whether a repository is the paper's own, plus facts from its host. The facts are None if the host was not
    queried. `commit` is the newest commit on the default branch."""

    is_official: bool = False
    commit: str | None = None
    license: str | None = None
    stars: int | None = None
    archived: bool | None = None
    default_branch: str | None = None

    def on(self, repository: Repository) -> Repository:
        """Adds this record to the repository. The repository follows the default branch if the newest commit was
        fetched."""
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
    """A repository examined for a paper. The evidence for and against ownership has one line per fact. `is_official` is
    None if the ownership is uncertain. `is_named` is True if the paper calls the repository its own, and `found` says
    how the address was found. Stars, dates and size are the same as in `RepositoryFacts`."""

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
        """Returns the repository in the form accepted by `xkg build --repo`."""
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
    """A candidate paper, ranked by `score`. `scores` contains its components, from 0 to 1. `technique` is the technique
    that the paper supports. `origin` is a citation, an index search or a model's web search.

    `identified` says how the paper's arXiv id was found. `why` contains the model's explanation or the facts behind the
    paper's rank. `dropped` is the reason why the paper was not chosen, or None if it was chosen. `repositories` lists
    all repositories examined, the paper's own first."""

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
        """Returns the paper's own repository, or None if none is known."""
        first = self.repositories[0] if self.repositories else None
        return first if first is not None and first.is_official else None


class CuratedSet(Value):
    """The result of a curation for one target. `papers` contains the chosen papers in rank order, and `dropped`
    contains the other papers. `by` is the language model that made the decisions, or None if no model was used. `notes`
    contains messages for the user about sources that did not answer and limits that were reached."""

    target: str
    title: str
    techniques: tuple[CoreTechnique, ...] = ()
    papers: tuple[CuratedPaper, ...] = ()
    dropped: tuple[CuratedPaper, ...] = ()
    by: str | None = None
    notes: tuple[str, ...] = ()

    def pairs(self) -> tuple[tuple[str, str, RepositoryRecord], ...]:
        """Returns papers and repositories in the form that `xkg build --paper … --repo …` accepts. Each pair includes
        the repository's record."""
        return tuple(
            (f"arxiv:{paper.arxiv_id}", paper.repository.spec, paper.repository.record)
            for paper in self.papers
            if paper.arxiv_id is not None and paper.repository is not None
        )
