"""The techniques of one paper as a tree in the making: what means the same is merged, and all hang under its own
method."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from xkg.build.techniques import method_name
from xkg.build.techniques.definitions import Reader, choose
from xkg.build.techniques.method_name import Proposal
from xkg.build.techniques.names import (
    abbreviations,
    about,
    endings,
    is_method_like,
    key,
    resolve,
    same,
    words,
)
from xkg.build.techniques.section_roles import Part, Role
from xkg.model import Excerpt

MAX_TECHNIQUES = 40


@dataclass(eq=False)
class Node:
    """A technique in the making. `score` is how sure it is one; `own` are the sentences under its heading."""

    name: str
    start: int
    score: float
    aliases: list[str] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    part: Part | None = None
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
    """The techniques of one paper so far, the paper's own method as the root. `node_of` holds for each part, by its
    identity, the technique that it tells of."""

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
            first = self.proposal.given[0] if self.proposal.given else 0
            start = reader.sentences[first].start if reader.sentences else 0
            self.root = Node(
                self.proposal.name, start, 10.0, list(self.proposal.aliases), given=list(self.proposal.given)
            )
            self.index(self.root)
            self.tops.append(self.root)

    def finish(self) -> list[Node]:
        """Leaves out what is one too many or has no definition; gives the tops."""
        self._prune()
        taken: set[int] = set()
        for top in self.tops:
            self._define(top, taken)
        self._drop_undefined()
        return self.tops

    def _define(self, node: Node, taken: set[int]) -> None:
        """Defines a technique after its components; adds the sentences that this takes to `taken`."""
        node.children.sort(key=lambda n: n.start)
        for child in node.children:
            self._define(child, taken)
        own = node.own
        if node is self.root:
            own = []
        elif not own:
            # A heading with nothing but headings under it is told by what these leave.
            own = sorted({i for c in node.walk() for i in c.own})
        names = list(dict.fromkeys([*node.names, *(resolve(n, self.shorts) for n in node.names)]))
        chosen = choose(self.reader, names, own, node.given, taken)
        node.definition, node.excerpts = self.reader.text(chosen), self.reader.excerpts(chosen)
        taken.update(chosen)

    def is_root(self, name: str) -> bool:
        """Whether a name is the paper's own method, or speaks about nothing but it."""
        if self.root is None:
            return False
        keys = {key(name), key(resolve(name, self.shorts)), key(about(name)), key(resolve(about(name), self.shorts))}
        own = self.root.keys(self.shorts)
        return any(k == r for k in keys for r in own)

    def give_short_name(self, node: Node) -> None:
        """Splits "Long form (SHORT)" and adds the short form that the paper uses for the name."""
        match = re.fullmatch(r"(.+?)\s*\(\s*([\w+-]+)\s*\)", node.name)
        if match:
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
        """The technique of the tree that `name` means; `loosely` also where one name has more words than the other."""
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
        """Lets `find` find a node by all its names; again after a name was added."""
        for name in node.names:
            for ending in endings(name) | endings(resolve(name, self.shorts)):
                nodes = self.by_ending.setdefault(ending, [])
                if node not in nodes:
                    nodes.append(node)

    def hang(self, node: Node, parent: Node | None) -> None:
        """Puts a new technique under `parent`, at the top where there is none."""
        self.index(node)
        self.candidates.append(node)
        node.parent = parent
        (parent.children if parent is not None else self.tops).append(node)

    def part_at(self, offset: int) -> Part | None:
        """The innermost part at an offset."""
        found = None
        for part in self.parts:
            for p in part.walk():
                if p.start <= offset < p.end and p.role is not Role.ABSTRACT:
                    found = p
        return found

    def names_only_root(self, name: str) -> bool:
        """Whether a name is the root's with one or two words more: "Batch and match VI", "Training DPMs with ANT"."""
        if self.root is None:
            return False
        for spelling in (name, resolve(name, self.shorts)):
            mine = set(key(spelling))
            if any(len(k) > 1 and mine.issuperset(k) and len(mine) <= len(k) + 2 for k in self.root.keys(self.shorts)):
                return True
        return any(w in self.root.names for w in name.split()) and len(words(name)) <= 5 and not is_method_like(name)

    def _prune(self) -> None:
        """Keeps the surest techniques of a paper that offers too many."""
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

    def _drop_undefined(self) -> None:
        """A technique without a definition gives its place to its components; a root stays."""

        def kept(nodes: Iterable[Node]) -> list[Node]:
            out: list[Node] = []
            for node in nodes:
                node.children = kept(node.children)
                if node.definition or node is self.root:
                    out.append(node)
                else:
                    out.extend(node.children)
            return out

        self.tops = kept(self.tops)
