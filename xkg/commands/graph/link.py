"""Implements `xkg concepts`, which links the papers in a graph. A language model decides the pairs that names and
vectors leave open."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager

from xkg.commands.graph.open import open_store
from xkg.config import Settings
from xkg.errors import AnswerError, LanguageModelError, ModelUnavailableError, UnknownIdError
from xkg.llm.client import Ask, LanguageModel
from xkg.store.concepts.ask_model import PAIRS, Pair, decide
from xkg.store.graph_store import Decision, GraphStore, Link
from xkg.value import Value


class LinkResult(Value):
    """The result of linking. `linked` counts `SAME_CONCEPT` edges by reason, and `decided` counts the model's new
    decisions by relation. `open` is the number of pairs without a decision. `notes` are lines for the user."""

    generation: int
    linked: dict[str, int]
    decided: dict[str, int]
    open: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        linked = ", ".join(f"{n} by {how}" for how, n in self.linked.items()) or "none"
        decided = ", ".join(f"{n} {relation}" for relation, n in self.decided.items())
        lines = [f"techniques in different papers that are the same concept: {linked}; {self.open} pairs open"]
        if decided:
            lines.append(f"decided now: {decided}")
        return "\n".join([*lines, f"the graph is generation {self.generation}"])


@contextmanager
def model(settings: Settings) -> "Iterator[Ask]":
    """Opens the configured language model. Raises `ModelUnavailableError` if a required key is not set, and
    `ConfigError` if a setting is invalid."""
    with LanguageModel(settings.llm, settings.kg) as language_model:
        yield language_model.for_paper("link")


def link(settings: Settings, asking: "Callable[[Settings], AbstractContextManager[Ask]]" = model) -> LinkResult:
    """Links the papers in the graph, and asks the model about open pairs. If `llm.model` is `none` or the model's key
    is not set, the pairs stay open.

    Raises `ModelUnavailableError` or `BudgetError` if the model fails midway, `UnknownIdError` if the graph is empty,
    and the same errors as `GraphStore.decide`. Decisions are published before an error is raised."""
    notes: list[str] = []
    decisions: list[Decision] = []
    failure: LanguageModelError | None = None
    with open_store(settings) as store:
        store.connect()
        generation, links, pairs = _linked(store)
        if pairs and settings.llm.model != "none":
            with ExitStack() as opened:
                try:
                    ask = opened.enter_context(asking(settings))
                except ModelUnavailableError as error:
                    notes.append(f"open pairs stay open: {error}")
                else:
                    decisions, failure = _decided(pairs, ask, settings.llm.concurrency, notes)
        if decisions:
            store.decide(decisions)
            generation, links, pairs = _linked(store)
        if failure is not None:
            raise failure
    how = Counter(link.how for link in links)
    return LinkResult(
        generation=generation,
        linked={kind: n for kind, n in sorted(how.items()) if kind != "open"},
        decided=dict(Counter(decision.relation for decision in decisions)),
        open=len(pairs),
        notes=tuple(notes),
    )


def _linked(store: GraphStore) -> tuple[int, Sequence[Link], list[Pair]]:
    """Returns the generation, its links, and the open pairs, most similar first, because the budget may not cover all
    of them."""
    with store.snapshot() as snapshot:
        if snapshot.generation == 0:
            raise UnknownIdError(f"{store.place} has no papers yet; build or import one first")
        links = snapshot.links()
        waiting = sorted((link for link in links if link.how == "open"), key=lambda link: -link.score)
        pairs = [(snapshot.technique(link.first), snapshot.technique(link.second)) for link in waiting]
        return snapshot.generation, links, pairs


def _decided(
    pairs: Sequence[Pair], ask: Ask, concurrency: int, notes: list[str]
) -> "tuple[list[Decision], LanguageModelError | None]":
    """Returns the decisions in the order of the pairs. Also returns the error that stopped the loop, or None. Adds a
    note for each failed question."""
    decisions: list[Decision] = []
    failure: LanguageModelError | None = None
    with ThreadPoolExecutor(concurrency) as pool:
        answers = [
            pool.submit(decide, part, ask) for part in (pairs[at : at + PAIRS] for at in range(0, len(pairs), PAIRS))
        ]
        try:
            for answer in answers:
                try:
                    decisions += answer.result()
                except CancelledError:
                    continue
                except AnswerError as error:
                    notes.append(f"pairs stay open: {error}")
                except LanguageModelError as error:
                    failure = failure or error
                    pool.shutdown(wait=False, cancel_futures=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return decisions, failure
