"""Selects the statements in a top-level function that given lines in it need. This is a backward slice inside the
function (Weiser, "Program Slicing", IEEE TSE 1984)."""

import ast
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.slicing.class_parts import Gap, KeptLines, first_line, has_own_lines, last_line, mentions
from xkg.build.slicing.scoping.bindings import Function, bound_name
from xkg.build.slicing.scoping.statement_effects import changed_in
from xkg.model import LineRange


@dataclass(frozen=True, eq=False)
class _Unit:
    """A statement with its enclosing statements in `above`, outermost first. If some `inner` statements are separate
    units, `nodes` contains only the remaining nodes. `reads` and `changes` contain the names that `nodes` reads and
    changes."""

    statement: ast.stmt
    above: tuple[ast.stmt, ...]
    inner: list[list[ast.stmt]]
    nodes: tuple[ast.AST, ...]
    reads: frozenset[str]
    changes: frozenset[str]


class FunctionParts(KeptLines):
    """The part of a function that is kept. If `whole` is set, the whole function is kept. Otherwise, the part contains
    the statements in `roots`, everything they need, and return statements that use only values from the kept
    statements."""

    def __init__(
        self, node: ast.stmt, roots: Collection[ast.stmt], lines: Sequence[str], foreign: Collection[str]
    ) -> None:
        super().__init__(node, roots)
        self._foreign = foreign
        kept = _needed(list(_units(_blocks(node), self.roots)), self.roots)
        first = [s for s in _blocks(node)[0][:1] if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)]
        inner = {key: list[list[ast.stmt]]() for key in first} | {unit.statement: unit.inner for unit in kept}
        self.gaps = tuple(_gaps(_blocks(node), inner, lines))
        for part in (each for unit in kept for each in unit.nodes):
            self.mentions.add(mentions(part, (), foreign))

    def refresh(self, _own: Collection[str], _other: Collection[str]) -> bool:
        """Keeps everything if the whole function is needed. Returns whether the kept part has grown."""
        grown = self.whole and bool(self.gaps)
        if grown:
            self.gaps, self.mentions = (), mentions(self.node, (), self._foreign)
        return grown


def statements_on(statements: Iterable[ast.stmt], lines: Sequence[LineRange]) -> list[ast.stmt]:
    """The innermost statements on the given lines. A statement is returned whole if its first lines are included."""
    found: list[ast.stmt] = []
    for each in statements:
        first, inner = first_line(each), _blocks(each)
        body = min((first_line(block[0]) for block in inner), default=last_line(each) + 1)
        if any(at.start_line < body and first <= at.end_line for at in lines):
            found.append(each)
        elif inner:
            found += statements_on((s for block in inner for s in block), lines)
    return found


def _needed(units: Sequence[_Unit], roots: Collection[ast.stmt]) -> list[_Unit]:
    kept = {unit.statement for unit in units if unit.statement in roots}
    size = -1
    while size < len(kept):
        size = len(kept)
        kept |= {above for unit in units if unit.statement in kept for above in unit.above}
        read = frozenset[str]().union(*(unit.reads for unit in units if unit.statement in kept))
        kept |= {unit.statement for unit in units if not unit.changes.isdisjoint(read) or _ends_loop(unit, kept)}
    bound = frozenset[str]().union(*(unit.changes for unit in units if unit.statement in kept))
    left_out = frozenset[str]().union(*(unit.changes for unit in units if unit.statement not in kept)) - bound
    kept |= {
        unit.statement
        for unit in units
        if isinstance(unit.statement, ast.Return)
        and kept.issuperset(unit.above)
        and unit.reads & bound
        and not unit.reads & left_out
    }
    return [unit for unit in units if unit.statement in kept]


def _ends_loop(unit: _Unit, kept: Collection[ast.stmt]) -> bool:
    loops = [above for above in unit.above if isinstance(above, ast.For | ast.AsyncFor | ast.While)]
    return isinstance(unit.statement, ast.Break | ast.Continue) and bool(loops) and loops[-1] in kept


def _units(
    blocks: Iterable[Sequence[ast.stmt]], roots: Collection[ast.stmt], above: tuple[ast.stmt, ...] = ()
) -> Iterator[_Unit]:
    """The units of a function. Inner functions and classes are kept whole, unless they contain a root."""
    for each in (statement for block in blocks for statement in block):
        inner = [] if each in roots else _blocks(each)
        if isinstance(each, Function | ast.ClassDef) and not any(_is_inside(root, each) for root in roots):
            inner = []
        nodes = tuple(_head(each) if inner else ast.walk(each))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        augmented = {id(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
        reads = {name.id for name in names if isinstance(name.ctx, ast.Load) or id(name) in augmented}
        if isinstance(each, Function):
            reads -= {node.arg for node in nodes if isinstance(node, ast.arg)}
        counted = nodes if inner else (each,)
        yield _Unit(each, above, inner, counted, frozenset(reads), frozenset(_changes(each, nodes)))
        yield from _units(inner, roots, (*above, each))


def _changes(statement: ast.stmt, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that a statement binds, or whose values it changes."""
    if isinstance(statement, Function | ast.ClassDef):
        yield statement.name
        return
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                yield name
            case ast.Import() | ast.ImportFrom():
                yield from map(bound_name, node.names)
    if not _blocks(statement):
        yield from changed_in(statement)


def _gaps(
    blocks: Iterable[Sequence[ast.stmt]], kept: Mapping[ast.stmt, list[list[ast.stmt]]], lines: Sequence[str]
) -> Iterator[Gap]:
    """The gaps left by omitted statements. `kept` maps each kept statement to its lists of inner statements, some of
    which may be omitted."""
    for block in blocks:
        left_out = {each for each in block if each not in kept and has_own_lines(each, lines)}
        for is_left_out, run in itertools.groupby(block, left_out.__contains__):
            statements = list(run)
            if is_left_out:
                first, last = first_line(statements[0]), last_line(statements[-1])
                line = lines[first - 1]
                indent = line[: len(line) - len(line.lstrip())]
                text = f"{'' if len(left_out) < len(block) else 'pass  '}# left out: lines {first}-{last}"
                yield Gap(first, last, f"{indent}{text}")
            else:
                yield from _gaps((inner for each in statements for inner in kept.get(each, ())), kept, lines)


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The lists of statements inside a statement."""
    own = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    parts = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    return [block for block in (*own, *(part.body for part in parts)) if block]


def _head(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes in a statement, excluding its inner statements."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _is_inside(inner: ast.stmt, outer: ast.stmt) -> bool:
    return first_line(outer) <= first_line(inner) and last_line(inner) <= last_line(outer)
