"""Renders search candidates as text for the verifier's question."""

import ast
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xkg.sandbox.evidence.python_ast import is_main_guard, syntax_tree
from xkg.serve.answers.types import SearchRow, short
from xkg.serve.search.search import relation
from xkg.store.graph_store import TechniqueView
from xkg.store.indexes.text import query_terms, word_terms, words

IN_FULL = 6
"""Number of candidates described in full, including their code. All other candidates are described briefly. For one
paraphrased query in twenty, the right answer is among the briefly described candidates."""

LETTERS = "abcdefgh"

_DEFINITION, _RELATIVE, _DOCUMENTATION, _CODE, _PARTS, _HEADS = 700, 240, 300, 1200, 300, 150
_IN_FEW_WORDS = 300
"""Maximum length of a definition in a brief description. All candidates together use about 4,000 tokens."""

_ALIKE = 0.8
"""Minimum fraction of shared words for a definition to be considered a repetition."""

_KINSHIP = {"part of": "{0} is part of it", "has part": "part of {0}", "same paper": "in the same paper as {0}"}


@dataclass(frozen=True)
class Candidate:
    """A search row with its technique and any matching relatives."""

    row: SearchRow
    views: tuple[TechniqueView, ...]


def labelled(candidates: Sequence[Candidate]) -> dict[str, tuple[Candidate, TechniqueView]]:
    """Maps labels in the question to techniques. A row's lead has a label such as `2`, and its relatives have labels
    such as `2a` and `2b`."""
    return {
        f"{number}{LETTERS[place - 1] if place else ''}": (candidate, view)
        for number, candidate in enumerate(candidates, start=1)
        for place, view in enumerate(candidate.views)
    }


def described(candidates: Sequence[Candidate], step: str) -> str:
    """Renders the candidates as text, with the code that best matches the step. Text from papers is joined into one
    line and code is indented, so that neither can imitate another candidate. Repeated definitions are omitted."""
    definitions = _Definitions()
    texts = (_described(number, each, step, definitions) for number, each in enumerate(candidates, start=1))
    return "\n\n".join(texts)


class _Definitions:
    """Remembers the definitions used so far, so that each appears only once."""

    def __init__(self) -> None:
        self._said: dict[str, frozenset[str]] = {}

    def say(self, label: str, view: TechniqueView, characters: int) -> str:
        text = short(view.technique.definition, characters)
        terms = frozenset(query_terms(view.technique.definition))
        for earlier, others in self._said.items():
            if terms and len(terms & others) >= _ALIKE * len(terms | others):
                return f"as {earlier}"
        self._said[label] = terms
        return text or "none"


def _described(number: int, candidate: Candidate, step: str, definitions: _Definitions) -> str:
    own, *others = candidate.views
    in_full = number <= IN_FULL
    definition = definitions.say(str(number), own, _DEFINITION if in_full else _IN_FEW_WORDS)
    lines = [
        f"Candidate {number}: {_title(own)}",
        f'paper: "{short(own.paper_title, 150)}"; place in it: {short(" > ".join(own.path), 200)}',
        f"definition: {definition}",
        *_components(own),
        *(_code(own, step) if in_full and own.code is not None else [f"code: {_code_heads(own)}"]),
    ]
    for letter, view in zip(LETTERS, others, strict=False):
        label = f"{number}{letter}"
        about = f": {definitions.say(label, view, _RELATIVE)}" if in_full else ""
        lines.append(f"{label} ({_kin(view, number, own)}): {_title(view)}{about}{_inside(view)}")
    return "\n".join(lines)


def _code(own: TechniqueView, step: str) -> Iterator[str]:
    if (code := own.code) is None:
        return
    if code.documentation and short(code.documentation, 80) not in short(own.technique.definition, _DEFINITION):
        yield f"documentation: {short(code.documentation, _DOCUMENTATION)}"
    yield f"code ({short(code.language, 30) or 'python'}, {code.standing}):"
    wanted = terms(
        f"{step} {own.technique.name} {own.technique.definition}"
    )  # the step may share no words with the code
    yield from (f"    {line}" for line in excerpt(code.implementation, wanted, _CODE))


def _title(view: TechniqueView) -> str:
    also = f" (also {', '.join(view.technique.aliases)})" if view.technique.aliases else ""
    return short(view.technique.name + also, 160)


def _components(view: TechniqueView) -> list[str]:
    names = "; ".join(child.name for child in view.children)
    return [f"components: {short(names, _PARTS)}"] if names else []


def _code_heads(view: TechniqueView) -> str:
    if view.code is None:
        return "none"
    names = heads(view.code.implementation, _HEADS)
    return f"yes, with {names}" if names else "yes"


def _kin(view: TechniqueView, number: int, own: TechniqueView) -> str:
    has = "with code" if view.code else "no code"
    kin = _KINSHIP.get(relation(view.technique.id, own.technique.id), "same name as {0}")
    return f"{kin.format(number)}; {has}"


def _inside(view: TechniqueView) -> str:
    lines = _components(view)
    lines += [f"code: {names}"] if view.code and (names := heads(view.code.implementation, _HEADS)) else []
    return "".join(f" | {line}" for line in lines)


_PARSED = 200_000
_LONGEST_LINE = 400
_HEADS = 200
_HEAD = re.compile(r"\s*(?:async )?(?:def|class) \w+")
_PREAMBLE = re.compile(r"import |from \S+ import |#|\s*(\.\.\.)?$|__all__")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _Piece:
    """Lines that are shown together. `owner` is the head of the class that contains the lines, if any. `about` contains
    additional words to match when selecting pieces."""

    lines: Sequence[str]
    owner: str = ""
    about: str = ""

    @property
    def size(self) -> int:
        return sum(len(line) + 1 for line in self.lines)

    def nearness(self, wanted: AbstractSet[str]) -> float:
        """Returns the cosine between the piece's words and the wanted words, up to a constant factor. Returns 0 for
        `__init__`, because its words mostly repeat names from other functions."""
        own = terms(" ".join([*self.lines, self.about]))
        return 0 if "def __init__(" in self.lines[0] else len(own & wanted) / max(1, len(own)) ** 0.5


def excerpt(implementation: str, wanted: AbstractSet[str], characters: int) -> list[str]:
    """Returns up to about `characters` characters from the functions that best match the `wanted` terms, in source
    order. The best function is cut if it is too long. For Python, imports, comments and docstrings are omitted. The
    last line lists the omitted functions."""
    pieces = _pieces(implementation)
    chosen: dict[int, Sequence[str]] = {}
    room = characters
    for n in sorted(range(len(pieces)), key=lambda n: -pieces[n].nearness(wanted)):
        if pieces[n].size <= room:
            chosen[n] = pieces[n].lines
        elif not chosen:
            chosen[n] = _beginning(pieces[n].lines, room)
        else:
            continue
        room -= pieces[n].size
    lines: list[str] = []
    owner = ""
    for n in sorted(chosen):
        if pieces[n].owner not in ("", owner):
            lines.append(pieces[n].owner)
        owner = pieces[n].owner
        lines += chosen[n]
    left_out = [line for n, piece in enumerate(pieces) for line in piece.lines[len(chosen.get(n, ())) :]]
    if left_out:
        names = _heads(left_out)
        more = f"… {len(left_out)} more line{'s' if len(left_out) > 1 else ''}"
        lines.append(more + (f": {short(', '.join(names), _HEADS)}" if names else ""))
    return lines


def _beginning(lines: Sequence[str], characters: int) -> list[str]:
    shown: list[str] = []
    for line in lines:
        shown.append(line[:_LONGEST_LINE])
        characters -= len(shown[-1]) + 1
        if characters < 0:
            break
    return shown


def heads(implementation: str, characters: int) -> str:
    """Returns `def NAME` or `class NAME` for each of the code's functions and classes, as one line."""
    return short(", ".join(_heads(implementation.splitlines())), characters)


def _heads(lines: Sequence[str]) -> list[str]:
    names = dict.fromkeys(match[0].strip() for line in lines if (match := _HEAD.match(line)))
    return [name for name in names if " __" not in name]


def terms(text: str) -> AbstractSet[str]:
    """Returns a text's distinct words, in the form used for text search."""
    return {term for word in words(text).split() for term in word_terms(word)}


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
    """Yields a module's functions, methods and the statements between them, except imports and the `__main__` block."""
    between: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) or is_main_guard(node):
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
            yield _function(statement, "    ", head)
    if not fields and not any(isinstance(statement, _FUNCTION) for statement in node.body):
        yield _Piece([head])


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, indent: str = "", owner: str = "") -> _Piece:
    about = ast.get_docstring(node) or ""
    for inner in ast.walk(node):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _is_text(inner.body[0]):
            inner.body = inner.body[1:] or [ast.Pass()]
    lines = [indent + line for line in ast.unparse(node).splitlines() if line.strip()]
    return _Piece(lines, owner, about)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
