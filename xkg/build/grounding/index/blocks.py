"""Splits a symbol into blocks. A block is a paragraph of 3 to 15 lines. Ablations edit whole blocks.

Finds blocks by indentation and blank lines alone, which works in linear time for all languages. A comment belongs to
the statements below it, and a docstring of more than 15 lines is a separate block."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xkg.build.code.codebase import CommentMark
from xkg.build.grounding.index.working_lines import statements

LEAST_LINES = 3
MOST_LINES = 15
_DOCSTRING_LINES = 15  # a longer docstring is a separate block
_WHOLE_LINES = 8  # a compound statement up to this length is one block, even if its body contains blank lines
_DEEPEST = 12  # the deepest indentation level at which code is split
_BRACKETS = (")", "]", "}")
_CLOSING = (*_BRACKETS, "else", "elif", "except", "finally", "catch", "end")


@dataclass(frozen=True)
class Block:
    """The lines from `first` to `last` of a file, 1-based and inclusive."""

    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


@dataclass
class _Statement:
    """A statement with its body and the comments above it. `gap` is True if a blank line or a comment precedes the
    statement."""

    first: int
    last: int
    indent: int
    gap: bool
    body: list["_Statement"] = field(default_factory=list)


def blocks(lines: Sequence[str], first: int, last: int, *, mark: CommentMark) -> list[Block]:
    """Returns the blocks in lines `first` to `last` (1-based, inclusive) of a file, in order. Blocks do not overlap.
    `mark` is the string that starts a comment."""
    return _grouped(_tree(list(_commented(lines, first, last, mark=mark))))


def _commented(lines: Sequence[str], first: int, last: int, *, mark: CommentMark) -> Iterator[_Statement]:
    """Yields each statement with the comments above it. A short docstring is treated as a comment."""
    current: _Statement | None = None
    end, above, separate = first - 1, 0, False
    for each in statements(lines, first, min(last, len(lines)), mark=mark):
        above = above or next((n for n in range(end + 1, each.first) if lines[n - 1].strip()), 0)
        gap, end = separate or above > 0 or each.first > end + 1, each.last
        separate = each.text == "s" and each.last - each.first >= _DOCSTRING_LINES
        if each.text == "s" and not separate:
            above = above or each.first
            continue
        if current is not None and not above and each.indent == current.indent and each.text.startswith(_BRACKETS):
            current.last = each.last
            continue
        if current is not None:
            yield current
        joined = each.text.startswith(_CLOSING) and not above
        current, above = _Statement(above or each.first, each.last, each.indent, gap and not joined), 0
    if current is not None:
        yield current


def _tree(statements: Sequence[_Statement]) -> list[_Statement]:
    """Nests each statement under the nearest statement above it with less indentation."""
    top: list[_Statement] = []
    open_: list[_Statement] = []
    for statement in statements:
        while open_ and open_[-1].indent >= statement.indent:
            open_.pop()
        for above in open_:
            above.last = max(above.last, statement.last)
        if open_ and len(open_) < _DEEPEST:
            open_[-1].body.append(statement)
        elif not open_:
            top.append(statement)
        if len(open_) < _DEEPEST:
            open_.append(statement)
    return top


def _grouped(statements: Sequence[_Statement]) -> list[Block]:
    found: list[Block] = []
    run: list[_Statement] = []

    def flush() -> None:
        if run:
            found.append(Block(run[0].first, run[-1].last))
            run.clear()

    for statement in statements:
        lines = statement.last - statement.first + 1
        paragraphs = lines > _WHOLE_LINES and any(inner.gap for inner in statement.body[1:])
        if statement.body and (paragraphs or lines > MOST_LINES):
            flush()
            inner = _grouped(statement.body)
            # A compound statement's header belongs to the first block of its body.
            head = Block(statement.first, inner[0].first - 1)
            if head.lines + inner[0].lines <= MOST_LINES:
                inner[0] = Block(head.first, inner[0].last)
            else:
                inner.insert(0, head)
            found.extend(inner)
            continue
        if run and (statement.gap or statement.last - run[0].first + 1 > MOST_LINES):
            flush()
        run.append(statement)
    flush()
    return _merged(found)


def _merged(found: Sequence[Block]) -> list[Block]:
    """Merges blocks of fewer than three lines with a neighbour if the result has at most 15 lines."""
    merged: list[Block] = []
    for block in found:
        before = merged[-1] if merged else None
        short = before is not None and min(before.lines, block.lines) < LEAST_LINES
        if before is not None and short and block.last - before.first + 1 <= MOST_LINES:
            merged[-1] = Block(before.first, block.last)
        else:
            merged.append(block)
    return merged
