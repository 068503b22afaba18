"""Extracts the part of a code node that a reader needs to judge what it computes: the functions nearest to some
words."""

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.serve.answers.types import short
from xkg.store.indexes.text import word_terms, words

_PARSED = 200_000
_LONGEST_LINE = 400
_HEADS = 200
_DECORATED = 4
_SATURATION, _LENGTH = 1.2, 0.5
"""BM25's parameters, with a weak length penalty: long functions are usually long because they do more."""

_NAMED = 3
"""The name of a function counts this many times among its words, because it summarises all of them."""

_SPECIAL = 0.5
"""Weight of special methods such as `__init__`: they store values for other methods, under all their names."""

_HEAD = re.compile(r"\s*(?:async )?(?:def|class) \w+")
_PREAMBLE = re.compile(r"import |from \S+ import |#|\s*(\.\.\.)?$|__all__")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _Piece:
    """Lines that are shown together, below `owner`, the head of their class. `about` are further words for the
    selection."""

    lines: Sequence[str]
    owner: str = ""
    weight: float = 1.0
    about: str = ""

    @property
    def size(self) -> int:
        return sum(len(line) + 1 for line in self.lines)


def excerpt(implementation: str, wanted: Mapping[str, float], characters: int) -> list[str]:
    """Return lines of about this many characters: the functions nearest to the `wanted` words, in source order. If the
    nearest function is too long, it is cut to its nearest lines. For Python, imports, comments and docstrings are
    omitted. The last line names the omitted functions."""
    pieces = _pieces(implementation)
    near_to = nearness([" ".join([*piece.lines, piece.about]) for piece in pieces], wanted)
    scores = [piece.weight * near for piece, near in zip(pieces, near_to, strict=True)]
    order = sorted(range(len(pieces)), key=lambda n: (-scores[n], n))
    chosen: dict[int, Sequence[str]] = {}
    room = characters
    for n in order:
        if chosen and scores[n] <= 0:
            break
        if pieces[n].size <= room:
            chosen[n] = pieces[n].lines
        elif not chosen:
            chosen[n] = _nearest_lines(pieces[n].lines, wanted, room)
        else:
            continue
        room -= sum(len(line) + 1 for line in chosen[n])
    lines: list[str] = []
    owner = ""
    for n in sorted(chosen):
        if pieces[n].owner not in ("", owner):
            lines.append(pieces[n].owner)
        owner = pieces[n].owner
        lines += chosen[n]
    left_out = [line for n, piece in enumerate(pieces) if n not in chosen for line in piece.lines]
    if left_out:
        names = _heads(left_out)
        more = f"… {len(left_out)} more line{'s' if len(left_out) > 1 else ''}"
        lines.append(more + (f": {short(', '.join(names), _HEADS)}" if names else ""))
    return lines


def heads(implementation: str, characters: int) -> str:
    """The names of the code's functions and classes, in one line."""
    return short(", ".join(_heads(implementation.splitlines())), characters)


def wanted_words(texts: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The terms of texts with weights. A term gets the maximum weight of the texts that contain it."""
    weights: dict[str, float] = {}
    for text, weight in texts:
        for term in _terms(text):
            weights[term] = max(weight, weights.get(term, 0.0))
    return weights


def _heads(lines: Sequence[str]) -> list[str]:
    names = dict.fromkeys(match[0].strip() for line in lines if (match := _HEAD.match(line)))
    return [name for name in names if " __" not in name]


def _terms(text: str) -> list[str]:
    return [term for word in words(text).split() for term in word_terms(word)]


def nearness(texts: Sequence[str], wanted: Mapping[str, float]) -> list[float]:
    """BM25 of each text, among these texts."""
    counts = [Counter(term for term in _terms(text) if term in wanted) for text in texts]
    lengths = [1 + len(text) for text in texts]
    mean = sum(lengths) / max(1, len(lengths))
    having = Counter(term for count in counts for term in count)
    return [
        sum(
            wanted[term]
            * math.log(1 + (len(texts) - having[term] + 0.5) / (having[term] + 0.5))
            * n
            / (n + _SATURATION * (1 - _LENGTH + _LENGTH * length / mean))
            for term, n in count.items()
        )
        for count, length in zip(counts, lengths, strict=True)
    ]


def _nearest_lines(lines: Sequence[str], wanted: Mapping[str, float], characters: int) -> list[str]:
    """The head of a function, and the run of its lines with the most wanted words."""
    weights = [sum(wanted.get(term, 0.0) for term in set(_terms(line))) for line in lines]
    defined = next((n for n, line in enumerate(lines[:_DECORATED]) if _HEAD.match(line)), -1)
    head = [line[:_LONGEST_LINE] for line in lines[: defined + 1]]
    room = characters - sum(len(line) + 1 for line in head)
    best, best_weight = (len(head), len(head)), -1.0
    start, size, weight = len(head), 0, 0.0
    for end in range(len(head), len(lines)):
        size += min(_LONGEST_LINE, len(lines[end])) + 1
        weight += weights[end]
        while size > room and start <= end:
            size -= min(_LONGEST_LINE, len(lines[start])) + 1
            weight -= weights[start]
            start += 1
        if weight > best_weight + 1e-9:
            best, best_weight = (start, end + 1), weight
    first, last = best
    # remaining space goes to the lines before, which define the names, and then to the lines after
    size = sum(min(_LONGEST_LINE, len(line)) + 1 for line in lines[first:last])
    while first > len(head) and size + min(_LONGEST_LINE, len(lines[first - 1])) < room:
        first -= 1
        size += min(_LONGEST_LINE, len(lines[first])) + 1
    while last < len(lines) and size + min(_LONGEST_LINE, len(lines[last])) < room:
        size += min(_LONGEST_LINE, len(lines[last])) + 1
        last += 1
    before, after = first - len(head), len(lines) - last
    return [
        *head,
        *_left_out(before),
        *(line[:_LONGEST_LINE] for line in lines[first:last]),
        *_left_out(after),
    ]


def _left_out(lines: int) -> list[str]:
    return [f"    … {lines} line{'s' if lines > 1 else ''}"] if lines else []


def _pieces(implementation: str) -> list[_Piece]:
    if len(implementation) <= _PARSED:
        try:
            if pieces := list(_of_python(syntax_tree(implementation))):
                return pieces
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    lines = [line.rstrip() for line in implementation[:_PARSED].splitlines() if not _PREAMBLE.match(line)]
    return [_Piece(lines)] if lines else []


def _of_python(tree: ast.Module) -> Iterator[_Piece]:
    """The functions of a module and of its classes, and the statements between them, without imports and without the
    `__main__` block."""
    between: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_main(node):
            continue
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if between:
                yield _Piece(between)
                between = []
            yield from _of_class(node) if isinstance(node, ast.ClassDef) else [_function(node)]
        elif not _is_text(node):
            between += ast.unparse(node).splitlines()
    if between:
        yield _Piece(between)


def _of_class(node: ast.ClassDef) -> Iterator[_Piece]:
    head = ast.unparse(ast.ClassDef(**{**dict(ast.iter_fields(node)), "body": [ast.Pass()]})).rsplit("\n", 1)[0]
    fields = [statement for statement in node.body if not isinstance(statement, _FUNCTION) and not _is_text(statement)]
    if fields:
        yield _Piece([f"    {line}" for field in fields for line in ast.unparse(field).splitlines()], owner=head)
    for statement in node.body:
        if isinstance(statement, _FUNCTION):
            special = statement.name.startswith("__") and statement.name != "__call__"
            yield _function(statement, "    ", head, _SPECIAL if special else 1.0)
    if not fields and not any(isinstance(statement, _FUNCTION) for statement in node.body):
        yield _Piece([head])


def _function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, indent: str = "", owner: str = "", weight: float = 1.0
) -> _Piece:
    about = " ".join([*[node.name] * _NAMED, ast.get_docstring(node) or ""])
    for inner in ast.walk(node):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _is_text(inner.body[0]):
            inner.body = inner.body[1:] or [ast.Pass()]
    lines = [indent + line for line in ast.unparse(node).splitlines() if line.strip()]
    return _Piece(lines, owner, weight, about)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
