"""Selects and quotes the parts of a paper that both views show."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from xkg.errors import InputError
from xkg.model import Code, PaperBundle, Technique
from xkg.serve.answers.measured import Ablations
from xkg.serve.answers.quoting import NOTICE, one_line, quoted
from xkg.serve.answers.types import short
from xkg.serve.search.grouping import kin
from xkg.store.index_entries import Entry, entries, hidden_techniques

Kind = Literal["paper", "techniques", "code", "repositories", "findings", "resources", "related"]
"""The parts of a paper that its context can include. `paper` is the abstract and year, and `techniques` is the
definitions and hierarchy. `code` is the code with its level and packages, `repositories` is the repositories and the
lines in them, and `related` is the related papers in the graph."""

CodeForm = Literal["raw", "rewritten", "verified"]
"""`raw`: the repository lines from which the code was generated. `rewritten`: the code node at any level. `verified`:
the code node if its test has run in the sandbox (level `executed` or above)."""

_MOST_INDENTED = 8
_MOST_PLACES = 3


@dataclass(frozen=True)
class Chosen:
    """A paper, the kinds of nodes to include, and short references to the paper and its techniques
    (`xkg.serve.answers.references`). `ablations` are the stored ablations of its techniques."""

    bundle: PaperBundle
    include: frozenset[Kind]
    paper: str
    short_ids: Mapping[str, str]
    ablations: Ablations = field(default_factory=dict)

    @cached_property
    def entries(self) -> Sequence[Entry]:
        return list(entries(self.bundle))

    @cached_property
    def techniques(self) -> Sequence[Technique]:
        """The visible techniques, in preorder."""
        return [entry.technique for entry in self.entries]

    @cached_property
    def hidden(self) -> Sequence[Technique]:
        """The hidden techniques, in preorder."""
        return hidden_techniques(self.bundle)

    @cached_property
    def _places(self) -> Mapping[str, Sequence[str]]:
        symbols = {symbol.id: symbol for symbol in self.bundle.symbols}
        found: dict[str, dict[str, str]] = {}  # a class and its method may have the same best lines
        for location in sorted(self.bundle.locations, key=lambda x: x.rank):
            if location.confidence == "weak":
                continue
            symbol = symbols[location.symbol]
            best = location.focus[0] if location.focus else symbol
            doubt = " (doubtful)" if location.doubtful else ""
            lines = f"{inline(symbol.path, 120)}:{best.start_line}-{best.end_line}"
            found.setdefault(location.technique, {}).setdefault(lines, f"{lines}{doubt}")
        return {technique: list(places.values()) for technique, places in found.items()}

    def places(self, technique: str) -> str:
        """Returns the repository lines that implement a technique, best first, or '' if none are known."""
        return ", ".join(self._places.get(technique, ())[:_MOST_PLACES])

    def without_code(self, hidden: Technique) -> str:
        """Returns a line that says why a hidden technique has no code, and where the technique is in the repository."""
        places = self.places(hidden.id)
        why = inline(hidden.hidden or "", 200)
        where = f"; in {places}" if places else ""
        return f"- **{inline(hidden.name, 100)}** {self.key(hidden.id)}: no code, because {why}{where}"

    @cached_property
    def depth(self) -> Mapping[str, int]:
        """The number of techniques above each technique."""
        return {entry.technique.id: len(entry.path) - 1 for entry in self.entries}

    @cached_property
    def by_id(self) -> Mapping[str, Technique]:
        return {t.id: t for t in self.techniques}

    @cached_property
    def code(self) -> Mapping[str, Code]:
        """The code nodes, keyed by technique id."""
        return {c.technique: c for c in self.bundle.code if c.technique in self.by_id}

    @cached_property
    def uses(self) -> Mapping[str, Sequence[str]]:
        return uses(self.techniques, self.code if "code" in self.include else {})

    @cached_property
    def order(self) -> Sequence[str]:
        """The ids in build order, in which each technique comes after the techniques that it uses."""
        return build_order(self.uses)

    def name(self, technique: str) -> str:
        return inline(self.by_id[technique].name, 100)

    def names(self, techniques: Sequence[str]) -> str:
        return ", ".join(map(self.name, techniques))

    def key(self, technique: str) -> str:
        """Returns the short id, without the paper if the head already contains it."""
        reference = self.short_ids[technique]
        return span(reference.removeprefix(self.paper) if reference.startswith(f"{self.paper}#") else reference)

    def head(self, kind: str) -> str:
        """Returns the document's head: the title, the paper's id, and how to read the document."""
        paper = self.bundle.paper
        return (
            f"# {kind}: {inline(paper.title, 200) or 'untitled'}\n\n"
            f"Paper id {span(self.paper)}; ids below that begin with `#` continue it. {NOTICE}"
        )


def inline(text: str, limit: int) -> str:
    """Quotes text inline, without characters that start code or markup."""
    return short(one_line(text).replace("`", "'").replace("<", "‹").replace(">", "›"), limit)


def first_words(text: str, limit: int) -> str:
    """Returns the first sentence, cut to the limit."""
    flat = one_line(text)
    end = re.search(r"(?<=[^\W\d_]{3})[.!?](?= [^\W\d_a-z])", flat[:limit])
    return flat[: end.end()] if end else short(flat, limit)


def span(node_id: str) -> str:
    """Renders an id as inline code, even if it contains backticks."""
    flat = one_line(node_id)
    marks = "`" * (1 + max(map(len, re.findall(r"`+", flat)), default=0))
    return f"{marks}{flat}{marks}" if len(marks) == 1 else f"{marks} {flat} {marks}"


def quoted_below(text: str, depth: int) -> str:
    """Renders a quote within a list item at this depth."""
    return "\n".join(f"{indent(depth + 1)}{line}" for line in quoted(text).split("\n"))


def indent(depth: int) -> str:
    return "  " * min(depth, _MOST_INDENTED)


CHARACTERS_A_TOKEN = 4
"""Must match `xkg.llm.prices.tokens`."""


class Step(NamedTuple):
    """A step that inserts `text` at `place` in a document, which is sorted by place. If there is already a text at this
    place, `text` replaces it and must not be shorter. `group` describes what is missing without this step."""

    group: str
    place: tuple[int, ...]
    text: str


def room(budget_tokens: int) -> int:
    """Returns the number of characters in a budget, minus one for the final newline."""
    return budget_tokens * CHARACTERS_A_TOKEN - 1


def reach(steps: Sequence[Step], characters: int, rest: Callable[[int], int]) -> int:
    """Returns how many steps fit in `characters`, given that n steps are followed by `rest(n)` more characters. Raises
    `InputError` if not even the first step fits."""
    best = size = 0
    placed: dict[tuple[int, ...], int] = {}
    for n, step in enumerate(steps, start=1):
        size += len(step.text) - placed[step.place] if step.place in placed else len(step.text) + 1
        placed[step.place] = len(step.text)
        if size > characters:
            break
        if size + rest(n) <= characters:
            best = n
    if best == 0:
        least = -(-(len(steps[0].text) + 2 + rest(1)) // CHARACTERS_A_TOKEN)
        raise InputError(f"the budget is too small for this paper; use at least {least} tokens")
    return best


def document(steps: Sequence[Step], last: str) -> str:
    """Returns the document made up of the steps and a last line."""
    placed = {step.place: step.text for step in steps}
    return "\n".join([*(placed[place] for place in sorted(placed)), last])


_DEFINED = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d_]\w*)", re.M)


def uses(techniques: Sequence[Technique], code: Mapping[str, Code]) -> dict[str, tuple[str, ...]]:
    """Maps each technique's id to the ids of the techniques that it uses directly. A technique's components come first,
    followed by the techniques whose code is part of its own code. Indirect uses are not listed, and a technique never
    uses a technique above it in the hierarchy. `code` is keyed by technique."""
    ids = {technique.id for technique in techniques}
    above = {each: ids.intersection(kin(each)[1:]) for each in ids}
    used: dict[str, list[str]] = {t.id: [] for t in techniques}
    for technique in techniques:
        if technique.parent in used:
            used[technique.parent].append(technique.id)
    names = {t.id: frozenset(_DEFINED.findall(code[t.id].implementation)) for t in techniques if t.id in code}
    holders = {other: {t for t in names if names[other] < names[t]} for other in names if names[other]}
    contained: dict[str, list[str]] = {t: [] for t in used}
    for other, by in holders.items():
        for holder in by:
            if other not in above[holder] and holder not in above[other]:
                contained[holder].append(other)
    for holder, others in contained.items():
        through = set(others)
        used[holder] += [
            other
            for other in others
            if not through & above[other] and not any(h in through or holder in above[h] for h in holders[other])
        ]
    return {t: tuple(others) for t, others in used.items()}


def build_order(used: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns all techniques in an order in which each comes after the techniques that it uses. Cycles are broken in
    the order of `used`."""
    order: list[str] = []
    seen: set[str] = set()
    for start in used:
        stack = [(start, iter(used[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            technique, rest = stack[-1]
            if (following := next((t for t in rest if t not in seen), None)) is None:
                order.append(technique)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(used[following])))
    return order
