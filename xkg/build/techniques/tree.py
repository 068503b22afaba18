"""Builds the technique tree of one paper: names with one meaning are merged, and all techniques are under its own
method."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from xkg.build.paper.document import Algorithm
from xkg.build.techniques import method_name
from xkg.build.techniques.definitions import MAX_CHARS, Reader, choose, mentions
from xkg.build.techniques.method_name import Proposal
from xkg.build.techniques.names import (
    abbreviations,
    about,
    endings,
    initials_match,
    is_method_like,
    key,
    resolve,
    same,
    stem,
    words,
)
from xkg.build.techniques.section_roles import Part, Role, part_at
from xkg.build.techniques.word_lists import ACTIONS, GENERIC, LEADING, STOP
from xkg.model import Excerpt

_LEARNING = stem("learning")
MAX_TECHNIQUES = 40
STEPS_OF_DEFINITION = 6


@dataclass(eq=False)
class Node:
    """A technique under construction. `score` is the confidence that it is one; `own` are the sentences under its
    heading, `naming` those that name it."""

    name: str
    start: int
    score: float
    aliases: list[str] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    naming: list[int] = field(default_factory=list)
    part: Part | None = None
    algorithm: Algorithm | None = None
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list)
    definition: str = ""
    excerpts: tuple[Excerpt, ...] = ()
    kind: Literal["methodology", "technique"] = "technique"

    @property
    def names(self) -> list[str]:
        return [self.name, *self.aliases]

    def keys(self, shorts: Mapping[str, str]) -> set[tuple[str, ...]]:
        return {k for n in self.names for k in (key(n), key(resolve(n, shorts))) if k}

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def above(self) -> Iterator["Node"]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


MAIN = (Role.METHOD, Role.APPLICATION)


class Tree:
    """The techniques of one paper so far, with the paper's own method as the root. `node_of` maps each part, by
    identity, to the technique that it describes."""

    def __init__(self, reader: Reader, parts: tuple[Part, ...]) -> None:
        self.reader = reader
        self.parts = parts
        self.shorts = abbreviations(s.text for s in reader.sentences)
        self.longs = {key(long): short for short, long in reversed(self.shorts.items())}
        self.proposal: Proposal | None = method_name.find(reader, parts, self.shorts)
        self.root: Node | None = None
        self.tops: list[Node] = []
        self.node_of: dict[int, Node | None] = {}
        self.by_ending: dict[str, list[Node]] = {}
        self.candidates: list[Node] = []
        if self.proposal is not None:
            first = self.proposal.naming[0] if self.proposal.naming else 0
            start = reader.sentences[first].start if reader.sentences else 0
            self.root = Node(
                self.proposal.name, start, 10.0, list(self.proposal.aliases), naming=list(self.proposal.naming)
            )
            self.index(self.root)
            self.tops.append(self.root)

    def finish(self) -> list[Node]:
        """Removes techniques over the limit or without a definition; returns the top level."""
        self._prune()
        used: set[int] = set()
        for top in self.tops:
            self._define(top, used)
        self.tops = self._defined(self.tops)
        return self.tops

    def _define(self, node: Node, used: set[int]) -> None:
        """Defines a technique after its components, and adds its sentences to `used`."""
        node.children.sort(key=lambda n: n.start)
        for child in node.children:
            self._define(child, used)
        own = node.own
        if node is self.root:
            own = []
        elif not own:
            # A heading with only headings under it is described by the sentences of these.
            own = sorted({i for c in node.walk() for i in c.own})
        names = list(dict.fromkeys([*node.names, *(resolve(n, self.shorts) for n in node.names)]))
        chosen = choose(self.reader, names, own, node.naming, used)
        node.definition, node.excerpts = self.reader.text(chosen), self.reader.excerpts(chosen)
        used.update(chosen)
        if node.algorithm is not None and set(mentions(names, self.reader)).isdisjoint(chosen):
            node.definition, node.excerpts = self._steps(node.name, node.algorithm)

    def _steps(self, name: str, algorithm: Algorithm) -> tuple[str, tuple[Excerpt, ...]]:
        """The first steps of an algorithm, as the definition of one that no sentence describes."""
        steps = [line for line in algorithm.body.split("\n") if line.strip()][:STEPS_OF_DEFINITION]
        part = part_at(self.parts, algorithm.start)
        path, line = self.reader.document.place(algorithm.start) or (None, None)
        section = part.title if part is not None else ""
        excerpt = Excerpt(section=section, start=algorithm.start, end=algorithm.end, path=path, line=line)
        return f"{name}: {'; '.join(steps)}"[:MAX_CHARS] if steps else "", (excerpt,)

    def is_root(self, name: str) -> bool:
        """Whether a name is, or is only about, the paper's own method."""
        if self.root is None:
            return False
        keys = {key(name), key(resolve(name, self.shorts)), key(about(name)), key(resolve(about(name), self.shorts))}
        own = self.root.keys(self.shorts)
        # "Deterministic adversarial imitation" is the learning of that name.
        if any(len(k) > 3 and k[:-1] in keys and k[-1] == _LEARNING for k in own):
            return True
        # "DPMsANT" is "DPMs-ANT".
        return not keys.isdisjoint(own) or "".join(words(name)) in {"".join(words(each)) for each in self.root.names}

    def give_short_name(self, node: Node) -> None:
        """Splits "Long form (SHORT)" and adds the short form that the paper uses for the name."""
        match = re.fullmatch(r"(.+?)\s*\(\s*([\w+-]+)\s*\)", node.name)
        reverse = re.fullmatch(r"([\w+-]{2,12})\s*+\(\s*+([^()\s][^()]{3,80}+)\)", node.name)
        if reverse and initials_match(reverse[1], reverse[2]):
            node.name = reverse[2].strip()
            node.aliases.append(reverse[1])
        elif match:
            node.name = match[1].strip()
            node.aliases.append(match[2])
        short = self.longs.get(key(node.name))
        if short and short not in node.names:
            node.aliases.append(short)
        elif node.name in self.shorts:
            node.aliases.append(self.shorts[node.name])

    def nodes(self) -> Iterator[Node]:
        """All techniques so far, parents first."""
        for top in self.tops:
            yield from top.walk()

    def find(self, name: str, *, loosely: bool = True) -> Node | None:
        """The node that `name` means; `loosely` also where one name has more words than the other."""
        spellings = {name, resolve(name, self.shorts), *re.findall(r"\((\w+)\)", name)}
        keys = {key(n) for n in spellings} - {()}
        near = [node for n in spellings for ending in sorted(endings(n)) for node in self.by_ending.get(ending, ())]
        for node in near:
            if keys & node.keys(self.shorts):
                return node
        for node in near if loosely else ():
            if node is not self.root and any(same(a, b) for a in spellings for b in node.names):
                return node
        return None

    def index(self, node: Node) -> None:
        """Adds all names of a node to the index of `find`; repeat after adding a name."""
        for name in node.names:
            for ending in endings(name) | endings(resolve(name, self.shorts)):
                nodes = self.by_ending.setdefault(ending, [])
                if node not in nodes:
                    nodes.append(node)

    def hang(self, node: Node, parent: Node | None) -> None:
        """Adds a new technique under `parent`, or to the top level where there is none."""
        self.index(node)
        self.candidates.append(node)
        node.parent = parent
        (parent.children if parent is not None else self.tops).append(node)

    def names_only_root(self, name: str) -> bool:
        """Whether a name is the root's with one or two additional words: "Batch and match VI". One with an abbreviation
        of its own, or with words of its own in front ("Randomized Sinkhorn"), is a variant."""
        if self.root is None or (" " not in name and name not in self.root.names):
            return False
        if self.longs.get(key(name), self.root.name) not in self.root.names or self._is_variant(name):
            return False
        for spelling in (name, resolve(name, self.shorts)):
            mine = set(key(spelling))
            if any(len(k) > 1 and mine.issuperset(k) and len(mine) <= len(k) + 2 for k in self.root.keys(self.shorts)):
                return True
        return any(w in self.root.names for w in name.split()) and len(words(name)) <= 5 and not is_method_like(name)

    def _is_variant(self, name: str) -> bool:
        spelling = resolve(name, self.shorts)
        for own in self.root.names if self.root is not None else ():
            front, found, rest = spelling.casefold().partition(own.casefold())
            extra = words(front)
            if found and not words(rest) and extra and not any(w in GENERIC | LEADING | ACTIONS | STOP for w in extra):
                return True
        return False

    def _prune(self) -> None:
        """Retains the techniques with the highest scores, and their parents, where there are too many."""
        nodes = list(self.nodes())
        if len(nodes) <= MAX_TECHNIQUES:
            return
        keep = {id(n) for n in sorted(nodes, key=lambda n: -n.score)[:MAX_TECHNIQUES]}
        for node in nodes:
            if id(node) in keep:
                keep.update(id(n) for n in node.above())
        for node in nodes:
            node.children = [c for c in node.children if id(c) in keep]
        self.tops = [t for t in self.tops if id(t) in keep]

    def _defined(self, nodes: Iterable[Node]) -> list[Node]:
        """Replaces each technique without a definition, other than the root, by its components."""
        defined: list[Node] = []
        for node in nodes:
            node.children = self._defined(node.children)
            defined += [node] if node.definition or node is self.root else node.children
        return defined
