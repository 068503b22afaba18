"""Creates diffs for `git apply` without starting a git process for each step in a run."""

import base64
import difflib
import hashlib
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from xkg.build.repositories.branch import TreeFile

_CONTEXT = 3
_MOST_STEPS = 2_000_000
"""The maximum number of steps in the search for equal lines. With this limit, the search takes a few seconds at most.
Without a limit, malicious text could take hours."""
_NO_FILE = b"0" * 40
_BINARY_LINE = 52
_LENGTHS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ESCAPES = {b"\n": rb"\n", b"\t": rb"\t", b"\r": rb"\r", b'"': rb"\"", b"\\": rb"\\"}

_Group = Sequence[tuple[str, int, int, int, int]]


def patch(old: Mapping[str, TreeFile], new: Mapping[str, TreeFile]) -> bytes:
    """Returns a patch for `git apply` that turns the files `old` into `new`. The patch includes binary files and modes,
    and is empty if the files are equal."""
    differing = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return b"".join(_of_file(path, old.get(path), new.get(path)) for path in differing)


def text_patch(path: str, old: bytes, new: bytes) -> bytes:
    """Returns a unified diff for a file that exists both before and after a change. The diff is empty if the contents
    are equal."""
    name = path.encode("utf-8", "replace")
    return _unified(_quoted(b"a/" + name), _quoted(b"b/" + name), old, new)


def changed_lines(old: bytes, new: bytes) -> frozenset[int]:
    """Returns the lines (1-based) of `new` that are not in `old`."""
    return frozenset(line for _, _, start, end in hunks(old, new) for line in range(start + 1, end + 1))


def hunks(old: bytes, new: bytes) -> list[tuple[int, int, int, int]]:
    """Returns the changes as start and end lines in `old` and in `new`. The lines are 0-based, and the end is
    exclusive."""
    return [
        (i1, i2, j1, j2)
        for group in _groups(_lines(old), _lines(new))
        for tag, i1, i2, j1, j2 in group
        if tag != "equal"
    ]


def _of_file(path: str, old: TreeFile | None, new: TreeFile | None) -> bytes:
    name = path.encode("utf-8", "replace")
    source, target = _quoted(b"a/" + name), _quoted(b"b/" + name)
    head = b"diff --git %b %b\n" % (source, target)
    before, after = old.content if old else b"", new.content if new else b""
    mode = b""
    if old is None or new is None:
        there, what = (new, b"new") if old is None else (old, b"deleted")
        head += b"%b file mode %b\n" % (what, _mode(there))
    elif old.executable != new.executable:
        head += b"old mode %b\nnew mode %b\n" % (_mode(old), _mode(new))
    else:
        mode = b" " + _mode(new)
    if old is not None and new is not None and before == after:
        return head
    head += b"index %b..%b%b\n" % (_object_id(old), _object_id(new), mode)
    if b"\0" in before or b"\0" in after:
        return head + b"GIT binary patch\n" + _literal(after) + _literal(before)
    return head + _unified(source if old else b"/dev/null", target if new else b"/dev/null", before, after)


def _unified(source: bytes, target: bytes, before: bytes, after: bytes) -> bytes:
    old, new = _lines(before), _lines(after)
    pieces: list[bytes] = []
    for group in _groups(old, new):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        pieces.append(b"@@ -%b +%b @@\n" % (_range(i1, i2), _range(j1, j2)))
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                pieces += (_line(b" ", line) for line in old[start:end])
                continue
            pieces += (_line(b"-", line) for line in old[start:end])
            pieces += (_line(b"+", line) for line in new[new_start:new_end])
    return b"".join((b"--- %b\n+++ %b\n" % (_ended(source), _ended(target)), *pieces)) if pieces else b""


def _groups(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Group]:
    start = _equal_at_start(old, new)
    end = _equal_at_start(old[start:][::-1], new[start:][::-1])
    low, tail = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    matcher = _Matcher(old[low : len(old) - tail], new[low : len(new) - tail])
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield [(tag, i1 + low, i2 + low, j1 + low, j2 + low) for tag, i1, i2, j1, j2 in group]


class _Matcher(difflib.SequenceMatcher[bytes]):
    """Gives up the search for equal lines after `_MOST_STEPS` steps, so that the patch replaces all remaining lines."""

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes]) -> None:
        super().__init__(None, old, new)
        places: Mapping[bytes, Sequence[int]] = self.b2j  # type: ignore[attr-defined]
        self._steps = [0, *accumulate(1 + len(places.get(line, ())) for line in old)]
        self._left = _MOST_STEPS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        self._left -= self._steps[-1 if ahi is None else ahi] - self._steps[alo]
        return super().find_longest_match(alo, ahi, blo, bhi) if self._left >= 0 else difflib.Match(alo, blo, 0)


def _equal_at_start(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    differing = (number for number, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    return next(differing, min(len(old), len(new)))


def _lines(content: bytes) -> list[bytes]:
    return io.BytesIO(content).readlines()


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else b"%b%b\n\\ No newline at end of file\n" % (sign, line)


def _range(start: int, end: int) -> bytes:
    length = end - start
    return b"%d" % (start + 1) if length == 1 else b"%d,%d" % (start + bool(length), length)


def _mode(file: TreeFile | None) -> bytes:
    return b"100755" if file is not None and file.executable else b"100644"


def _object_id(file: TreeFile | None) -> bytes:
    if file is None:
        return _NO_FILE
    blob = b"blob %d\0" % len(file.content) + file.content
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest().encode()


def _literal(content: bytes) -> bytes:
    """Returns a file's content in git's binary patch format. The content is compressed, and each line starts with its
    length as a letter."""
    packed = zlib.compress(content)
    lines = [b"literal %d\n" % len(content)]
    for at in range(0, len(packed), _BINARY_LINE):
        piece = packed[at : at + _BINARY_LINE]
        lines.append(b"%c%b\n" % (_LENGTHS[len(piece) - 1], base64.b85encode(piece, pad=True)))
    return b"".join(lines) + b"\n"


def _quoted(name: bytes) -> bytes:
    """Returns a path as git writes it. Quotes paths with special characters."""
    if not re.search(rb'[\x00-\x1f\x7f"\\]', name):
        return name
    escaped = (_ESCAPES.get(c, c if b" " <= c != b"\x7f" else b"\\%03o" % c[0]) for c in (bytes([n]) for n in name))
    return b'"%b"' % b"".join(escaped)


def _ended(name: bytes) -> bytes:
    """Appends a tab to a path that contains spaces, to mark its end."""
    return name + b"\t" if b" " in name else name
