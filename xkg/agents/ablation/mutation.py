"""Applies exact source changes: a replacement applies only if the file contains the old text at the given offsets."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from xkg.agents.ablation.candidates import Replacement
from xkg.agents.workspace.patches import hunks, text_patch
from xkg.errors import XkgError


class MutationError(XkgError):
    """A change that cannot be applied to the files."""


def apply(replacements: Iterable[Replacement], files: Mapping[str, str]) -> dict[str, str]:
    """Applies replacements, and returns the changed files (path → new text). Raises `MutationError` if a file or old
    text is missing, or if two changes overlap."""
    by_path: dict[str, list[Replacement]] = {}
    for replacement in replacements:
        by_path.setdefault(replacement.path, []).append(replacement)
    changed = {}
    for path, own in by_path.items():
        text = files.get(path)
        if text is None:
            raise MutationError(f"{path} is not in this working copy")
        last = len(text) + 1
        for r in sorted(own, key=lambda r: -r.start):
            if r.end > last:
                raise MutationError(f"two changes to {path} overlap at character {r.start}")
            if text[r.start : r.end] != r.old:
                raise MutationError(f"{path} does not contain {r.old[:60]!r} at character {r.start}; it has changed")
            text = text[: r.start] + r.new + text[r.end :]
            last = r.start
        changed[path] = text
    return changed


_CONTEXT = 20


def joined(first: Sequence[Replacement], second: Iterable[Replacement], files: Mapping[str, str]) -> list[Replacement]:
    """Combines two changes to the same files. A change in `second` that lies inside a change in `first` is applied to
    the new text if that text contains the code to replace exactly once. Otherwise, the change is dropped."""
    own, rest = list(first), []
    for inner in second:
        at = next(
            (i for i, r in enumerate(own) if r.path == inner.path and r.start < inner.end and inner.start < r.end), None
        )
        if at is None:
            rest.append(inner)
            continue
        outer = own[at]
        if not outer.start <= inner.start <= inner.end <= outer.end:
            continue
        before = files[inner.path][max(outer.start, inner.start - _CONTEXT) : inner.start]
        if outer.new.count(before + inner.old) == 1:
            new = outer.new.replace(before + inner.old, before + inner.new)
            own[at] = outer.model_copy(update={"new": new})
    return [*own, *rest]


def unified_diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Returns a git-style diff for the files in `after`."""
    found = (text_patch(path, before[path].encode(), after[path].encode()) for path in sorted(after))
    return b"".join(found).decode()


def changed_lines(before: str, after: str) -> list[tuple[int, int]]:
    """Returns the line ranges of `before` (1-based, inclusive) that differ. An insertion is represented by the line
    that follows the insertion."""
    return [
        (max(1, start if start == end else start + 1), max(1, end))
        for start, end, _, _ in hunks(before.encode(), after.encode())
    ]


def line_replacements(path: str, before: str, after: str) -> Iterator[Replacement]:
    """Yields a change as replacements of whole lines."""
    old, new = (io.StringIO(text, newline="\n").readlines() for text in (before, after))
    starts = [0, *accumulate(map(len, old))]
    for i1, i2, j1, j2 in hunks(before.encode("utf-8", "replace"), after.encode("utf-8", "replace")):
        yield Replacement(path=path, start=starts[i1], end=starts[i2], old="".join(old[i1:i2]), new="".join(new[j1:j2]))
