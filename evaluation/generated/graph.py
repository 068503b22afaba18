"""Generates a graph of any size. Each paper's words are drawn with a separate seed, so paper n is the same in graphs of
all sizes. Each paper has twenty techniques in a tree four levels deep, with 2 KB of code for each technique. Each paper
also has a repository, references to other papers, findings, and one package that all papers share."""

import hashlib
import random
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.generated.paper import ACTS, ADJECTIVES, NOUNS, VERBS
from xkg.model import (
    Code,
    Finding,
    Level,
    Location,
    Paper,
    PaperBundle,
    Reference,
    Repository,
    Symbol,
    Technique,
    code_id,
    symbol_id,
)

TECHNIQUES = 20
CODE_BYTES = 2000
CITED = 5
_LEVELS = (Level.PARSED, Level.IMPORTED, Level.EXECUTED, Level.TESTED)
_PARENTS = (None, 0, 0, 1, 1, 2, 3, 3, 4, 5, None, 10, 10, 11, 12, 13, None, 16, 17, 18)
"""The index of each technique's parent. The tree has three top techniques and four levels."""


def bundles(papers: int, first: int = 0, edition: int = 0) -> Iterator[PaperBundle]:
    """Yields `papers` papers, starting with number `first`. All editions of a paper have the same techniques, but each
    `edition` has different definitions and code."""
    return (bundle(number, edition) for number in range(first, first + papers))


def bundle(number: int, edition: int = 0) -> PaperBundle:
    words = random.Random(number)
    edited = random.Random(f"{number}.{edition}")
    identity = f"title:generated-{number}"
    repository = Repository(id=f"local:generated-{number}@{number:08x}", url=f"https://example.org/{number}.git")
    techniques: list[Technique] = []
    code: list[Code] = []
    symbols: list[Symbol] = []
    locations: list[Location] = []
    for index, above in enumerate(_PARENTS):
        parent = None if above is None else techniques[above]
        own = f"{identity}#t{index}" if parent is None else f"{parent.id}/t{index}"
        name = f"{words.choice(ADJECTIVES)} {words.choice(NOUNS)} {words.choice(ACTS)} {number}.{index}"
        techniques.append(
            Technique(
                id=own,
                name=name.capitalize(),
                parent=parent.id if parent else None,
                kind="technique" if parent else "methodology",
                definition=_sentences(edited, 4),
                depth=parent.depth + 1 if parent else 0,
                grounding="located",
            )
        )
        implementation = _implementation(edited, f"step_{index}")
        test = f"assert step_{index}(1.0) is not None\n"
        code.append(
            Code(
                id=code_id(own, implementation, test),
                technique=own,
                implementation=implementation,
                test=test,
                documentation=_sentences(edited, 2),
                packages=("numpy",) if index % 2 else ("numpy", "scipy"),
                level=words.choice(_LEVELS),
            )
        )
        path, qualified = f"model/part_{index % 4}.py", f"step_{index}"
        symbols.append(
            Symbol(
                id=symbol_id(repository.id, path, qualified),
                repository=repository.id,
                path=path,
                qualified_name=qualified,
                kind="function",
                start_line=10 * index + 1,
                end_line=10 * index + 9,
            )
        )
        locations.append(Location(technique=own, symbol=symbols[-1].id, score=0.9, rank=1))
    references = [Reference(title=_title(words.randrange(max(1, number)))) for _ in range(CITED)]
    return PaperBundle(
        paper=Paper(
            id=identity,
            title=_title(number),
            abstract=_sentences(edited, 6),
            year=2015 + number % 10,
            references=(*references, Reference(title=f"A work that is in no graph, number {number % 100}")),
            origin="build",
            built_at=f"2026-{number % 12 + 1:02d}-01T00:00:00Z",
            cost_usd=round(words.random(), 2),
        ),
        techniques=tuple(techniques),
        code=tuple(code),
        repositories=(repository,),
        symbols=tuple(symbols),
        locations=tuple(locations),
        findings=(Finding(id=f"{identity}#finding/1", name="Result", description=_sentences(edited, 1)),),
    )


class SeededVectors:
    """A replacement for an embedding model, used to time only the code that calls it. A text's vector is a random unit
    vector whose seed is the text, so equal texts have equal vectors. Texts are divided into subjects, and the cosine of
    two texts on the same subject is near 0.4. Without subjects, each search would have to visit all inverted lists of
    an index, which is not the case with real texts."""

    model = "seeded-384"
    dimension = 384
    _SUBJECTS = 500
    _SHARED = 0.4

    def __init__(self) -> None:
        self._subjects = _unit(np.random.default_rng(0).standard_normal((self._SUBJECTS, self.dimension)))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        drawn = np.empty((len(texts), self.dimension))
        subjects = np.empty(len(texts), dtype=np.int64)
        for row, text in enumerate(texts):
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
            drawn[row] = np.random.default_rng(seed).standard_normal(self.dimension)
            subjects[row] = seed % self._SUBJECTS
        mixed = self._SHARED**0.5 * self._subjects[subjects] + (1 - self._SHARED) ** 0.5 * _unit(drawn)
        return _unit(mixed).astype(np.float32)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    unit: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _title(number: int) -> str:
    words = random.Random(f"title {number}")
    return (
        f"{words.choice(ADJECTIVES)} {words.choice(NOUNS)} {words.choice(ACTS)} with {words.choice(NOUNS)}s, {number}"
    )


def _sentences(words: random.Random, count: int) -> str:
    return " ".join(
        f"It {words.choice(VERBS)} the {words.choice(ADJECTIVES)} {words.choice(NOUNS)} by {words.choice(ACTS)} at "
        f"{words.random():.3f}."
        for _ in range(count)
    )


def _implementation(words: random.Random, name: str) -> str:
    lines = ["import numpy as np", "", "", f"def {name}(value: float) -> float:"]
    while sum(map(len, lines)) < CODE_BYTES:
        lines.append(f"    value = value * {words.random():.6f} + np.{words.choice(('sin', 'cos', 'tanh'))}(value)")
    return "\n".join([*lines, "    return value", ""])
