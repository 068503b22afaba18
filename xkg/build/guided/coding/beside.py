"""The other places of a technique, shown to a check in addition to the source lines."""

from collections.abc import Sequence

from xkg.build.code.codebase import Codebase, comment_mark

_MOST = 8_000


def other_places(codebase: Codebase, located: Sequence[str], used: Sequence[str]) -> str:
    """The source of the located symbols (ids, best first) that are not in `used`, up to about 8,000 characters, and the
    names of those that do not fit. Empty if there are none. Raises `UnknownIdError` like `Codebase`."""
    parts: list[str] = []
    dropped: list[str] = []
    for identity in (each for each in located if each not in used):
        symbol = codebase.symbols()[identity].symbol
        mark = comment_mark(codebase.module(symbol).language)
        lines = codebase.source(symbol).strip("\n")
        text = f"{mark} --- {symbol.path}:{symbol.start_line}-{symbol.end_line}\n{lines}\n"
        if sum(map(len, parts)) + len(text) <= _MOST:
            parts.append(text)
        else:
            dropped.append(identity.rpartition(":")[2])
    if dropped:
        parts.append(f"Not shown, for their length: {', '.join(dropped)}\n")
    return "\n".join(parts)
