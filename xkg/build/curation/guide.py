"""Asks a language model for decisions that a curation cannot make by itself.

The model finds unparsed reference titles, core techniques and works that the target does not cite, and chooses the
papers that support the techniques. If the facts are inconclusive, the model decides whether a repository is a paper's
own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from xkg.build.curation.curated_set import CoreTechnique, CuratedPaper
from xkg.build.curation.ownership import PaperIdentity, Verdict
from xkg.build.paper.document import Document
from xkg.build.sources.github import RepositoryFacts
from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.section_roles import Role
from xkg.errors import AnswerError
from xkg.llm.client import AnswerType, Ask
from xkg.llm.prompt import load_prompt
from xkg.text.plural import plural
from xkg.text.unicode import encodable, printable_line

_FOLDER = Path(__file__).parent / "prompts"
_MOST_TECHNIQUES, _MOST_CANDIDATES, _MOST_CHOSEN = 8, 80, 25
_OUTLINE, _README, _SENTENCE, _SENTENCES = 12_000, 4_000, 300, 3
_MOST_ENTRIES, _ENTRY = 100, 500
_MOST_WORKS, _MOST_KNOWN = 20, 300


class NamedTechnique(AnswerType):
    name: str
    definition: str
    why: str


class CoreTechniques(AnswerType):
    techniques: tuple[NamedTechnique, ...]


class ChosenPaper(AnswerType):
    candidate: int
    technique: int
    why: str


class ChosenPapers(AnswerType):
    chosen: tuple[ChosenPaper, ...]


class ReadTitle(AnswerType):
    entry: int
    title: str


class ReadTitles(AnswerType):
    titles: tuple[ReadTitle, ...]


class UncitedWork(AnswerType):
    title: Annotated[str, Field(max_length=500)]
    arxiv_id: Annotated[str, Field(max_length=100)] | None
    doi: Annotated[str, Field(max_length=200)] | None
    repository: Annotated[str, Field(max_length=300)] | None
    why: Annotated[str, Field(max_length=1000)]


class UncitedWorks(AnswerType):
    works: Annotated[tuple[UncitedWork, ...], Field(max_length=_MOST_WORKS)]


class OwnRepository(AnswerType):
    own: bool
    why: str


class Choice(NamedTuple):
    """A candidate that the model chose. `candidate` is the index of the candidate, and `technique` is the index of the
    technique that it supports. `why` is the model's explanation."""

    candidate: int
    technique: int
    why: str


class Guide:
    """Asks the language model `model`. `searches` is True if the model can search the web.

    If an answer is unusable, a method calls `note` with a line of text and returns None. The decision is then made
    without a model. Raises `ModelUnavailableError` and `BudgetError`."""

    def __init__(self, ask: Ask, model: str, note: Callable[[str], None], *, searches: bool = False) -> None:
        self._ask, self.model, self._note, self._searches = ask, model, note, searches

    def reference_titles(self, entries: Sequence[str]) -> Mapping[int, str]:
        """Returns the titles that the model finds in the first `_MOST_ENTRIES` bibliography entries, keyed by index."""
        shown = [printable_line(entry)[:_ENTRY] for entry in entries[:_MOST_ENTRIES]]
        inputs = {"entries": encodable("\n".join(f"[{n}] {entry}" for n, entry in enumerate(shown, 1)))}

        def check(answer: ReadTitles) -> str | None:
            odd = [each.entry for each in answer.titles if not 1 <= each.entry <= len(shown)]
            return f"there is no entry {odd[0]}: they are numbered 1 to {len(shown)}" if odd else None

        try:
            answer = self._ask(
                load_prompt(_FOLDER / "reference_titles.md"), ReadTitles, inputs, about="bibliography", check=check
            )
        except AnswerError as error:
            self._note(f"{plural(len(entries), 'reference')} with unclear titles are left out: {error}")
            return {}
        return {each.entry - 1: printable_line(each.title) for each in answer.titles}

    def techniques(self, document: Document, reader: Reader) -> tuple[CoreTechnique, ...] | None:
        inputs = {
            "title": encodable(document.title),
            "abstract": encodable(document.abstract[:4000]),
            "outline": encodable(_outline(document, reader)),
        }

        def check(answer: CoreTechniques) -> str | None:
            return None if any(each.name.strip() for each in answer.techniques) else "techniques is empty: list some"

        try:
            answer = self._ask(
                load_prompt(_FOLDER / "core_techniques.md"), CoreTechniques, inputs, about=document.title, check=check
            )
        except AnswerError as error:
            self._note(f"the techniques are taken from the paper's structure: {error}")
            return None
        return tuple(
            CoreTechnique(
                name=printable_line(each.name)[:120],
                definition=printable_line(each.definition)[:1000],
                why=printable_line(each.why)[:300],
            )
            for each in answer.techniques[:_MOST_TECHNIQUES]
            if each.name.strip()
        )

    def uncited(
        self, document: Document, techniques: Sequence[CoreTechnique], known: Sequence[str]
    ) -> Sequence[UncitedWork]:
        """Returns works that the model finds on the web in addition to these titles. Returns () if the model cannot
        search the web."""
        if not self._searches:
            return ()
        inputs = {
            "target": encodable(f"{document.title}\n{document.abstract[:3000]}"),
            "techniques": encodable("\n".join(f"- {each.name}: {each.definition}" for each in techniques)),
            "known": encodable("\n".join(f"- {printable_line(title)[:250]}" for title in known[:_MOST_KNOWN])),
        }
        try:
            answer = self._ask(load_prompt(_FOLDER / "uncited_works.md"), UncitedWorks, inputs, about=document.title)
        except AnswerError as error:
            self._note(f"{self.model} found no works that the target does not cite: {error}")
            return ()
        return answer.works

    def choose(
        self, document: Document, techniques: Sequence[CoreTechnique], candidates: Sequence[CuratedPaper]
    ) -> list[Choice] | None:
        """Returns the model's choices among the first `_MOST_CANDIDATES` candidates, best first."""
        shown = candidates[:_MOST_CANDIDATES]
        inputs = {
            "target": encodable(f"{document.title}\n{document.abstract[:3000]}"),
            "techniques": encodable("\n".join(f"{n}. {t.name}: {t.definition}" for n, t in enumerate(techniques, 1))),
            "candidates": encodable("\n".join(_candidate(n, paper) for n, paper in enumerate(shown, 1))),
        }

        def check(answer: ChosenPapers) -> str | None:
            odd = [c.candidate for c in answer.chosen if not 1 <= c.candidate <= len(shown)]
            odd_technique = [c.technique for c in answer.chosen if not 1 <= c.technique <= len(techniques)]
            if odd:
                return f"there is no candidate {odd[0]}: they are numbered 1 to {len(shown)}"
            return f"there is no technique {odd_technique[0]}" if odd_technique else None

        try:
            answer = self._ask(
                load_prompt(_FOLDER / "choose_papers.md"), ChosenPapers, inputs, about=document.title, check=check
            )
        except AnswerError as error:
            self._note(f"papers are ranked by how the target cites them and by embeddings: {error}")
            return None
        first: dict[int, Choice] = {}
        for each in answer.chosen[:_MOST_CHOSEN]:
            words = printable_line(each.why)[:400]
            first.setdefault(each.candidate, Choice(each.candidate - 1, each.technique - 1, words))
        return list(first.values())

    def is_own(self, paper: PaperIdentity, facts: RepositoryFacts, verdict: Verdict) -> tuple[bool, str] | None:
        """Returns whether a repository is the paper's own, and the model's explanation."""
        days = f"created {facts.created or 'on an unknown day'}, last changed {facts.pushed or 'on an unknown day'}"
        lines = [
            f"{facts.full_name}: {facts.description}",
            f"{days}; {facts.stars if facts.stars is not None else 'unknown'} stars"
            + (f"; a fork of {facts.source}" if facts.source else ""),
            *verdict.evidence,
        ]
        inputs = {
            "paper": encodable(
                f"{paper.title}\n{', '.join(paper.authors)[:600]}\narXiv:{paper.arxiv_id}, {paper.published or ''}"
            ),
            "facts": encodable("\n".join(lines)),
            "readme": encodable(facts.readme[:_README]) or "(none)",
        }
        try:
            answer = self._ask(load_prompt(_FOLDER / "own_repository.md"), OwnRepository, inputs, about=facts.full_name)
        except AnswerError as error:
            self._note(f"could not determine whether {facts.full_name} is a paper's own repository: {error}")
            return None
        return answer.own, f"{self.model}: {printable_line(answer.why)[:300]}"


def _outline(document: Document, reader: Reader) -> str:
    headings = [f"{'  ' * (section.level - 1)}{section.title}" for section in document.walk()]
    method = [s.text for i, s in enumerate(reader.sentences) if reader.role(i) is Role.METHOD]
    return ("\n".join(headings)[:3000] + "\n\n" + " ".join(method))[:_OUTLINE]


def _candidate(number: int, paper: CuratedPaper) -> str:
    year = (paper.published or "")[:4] or "year unknown"
    lines = [f"[{number}] {printable_line(paper.title)[:250]} ({year}); {printable_line(paper.why)}"]
    for mention in sorted(paper.mentions, key=lambda each: each.together)[:_SENTENCES]:
        if mention.sentence:
            others = f", among {mention.together}" if mention.together > 1 else ""
            lines.append(f"    {mention.role}{others}: {printable_line(mention.sentence)[:_SENTENCE]}")
    return "\n".join(lines)
