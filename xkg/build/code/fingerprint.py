"""Sketches of code bodies: 64 hexadecimal digits each, used to estimate how similar two bodies are.

MinHash (Broder, "On the resemblance and containment of documents", SEQUENCES 1997) over runs of three tokens, keeping
four bits of each minimum (Li and König, "b-Bit minwise hashing", WWW 2010). Comments, docstrings and layout are
ignored."""

import re
import zlib
from collections.abc import Mapping
from operator import eq

import numpy as np
from numpy.typing import NDArray

from xkg.build.code.codebase import CommentMark, Module, comment_mark

DIGITS = 64
_RUN = 3
# Shorter bodies ("return self.x") are often similar by chance.
_FEWEST_RUNS = 12
_AT_ONCE = 4096
_BLOCK = 64  # number of runs; must divide _AT_ONCE

_REST = rb"""
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | [A-Za-z_\x80-\xff][\w\x80-\xff]* | \d[\w.]* | [^\s\w\x80-\xff]
"""
_SKIPPED: Mapping[CommentMark, bytes] = {
    "#": rb'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|\#[^\n]*',
    "//": rb"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)",
    "%": rb"%[^\n]*",
}
_TOKENS = {mark: re.compile(b"(?P<skip>" + skipped + b")" + _REST, re.VERBOSE) for mark, skipped in _SKIPPED.items()}

_SEEDS = np.random.default_rng(1997).integers(1, 2**63, size=(DIGITS, 1), dtype=np.uint64)


def fingerprinted(module: Module) -> Module:
    """Returns the module with `fingerprint` set for every symbol except constants. Fingerprints of very short bodies
    are ''."""
    runs, lines = _runs(module)
    minima = _Minima(runs)
    symbols = []
    for source in module.symbols:
        symbol = source.symbol
        if symbol.kind != "constant":
            first = int(np.searchsorted(lines, symbol.start_line, "left"))
            last = int(np.searchsorted(lines, symbol.end_line, "right"))
            sketch = minima.sketch(first, max(first, last - _RUN + 1))
            source = source.model_copy(update={"symbol": symbol.model_copy(update={"fingerprint": sketch})})
        symbols.append(source)
    return module.model_copy(update={"symbols": tuple(symbols)})


def similarity(one: str, other: str) -> float:
    """Estimates the Jaccard similarity of two bodies' token runs, in [0, 1]; the standard deviation is at most 0.07."""
    equal: float = sum(map(eq, one, other)) / DIGITS
    return max(0.0, (equal - 1 / 16) / (15 / 16))


def _runs(module: Module) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Returns hashes of the runs that start at each token, and each token's line (1-based)."""
    pattern = _TOKENS[comment_mark(module.language)]
    text = module.text.encode("utf-8", "surrogatepass")
    starts, hashes = [], []
    for match in pattern.finditer(text):
        if match.lastgroup is None:
            starts.append(match.start())
            hashes.append(zlib.crc32(match[0]))
    breaks = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
    lines = np.searchsorted(breaks, np.array(starts, dtype=np.int64), "right") + 1
    tokens = np.array(hashes, dtype=np.uint64)
    runs = np.zeros(max(0, len(tokens) - _RUN + 1), dtype=np.uint64)
    for i in range(_RUN):
        runs = _mixed(runs + tokens[i : len(tokens) - _RUN + 1 + i])
    return runs, lines


class _Minima:
    """Finds the minimum hash over any range of runs, for each of `DIGITS` hash functions. Minima are precomputed for
    blocks, pairs of blocks and so on, because nested symbols, or symbols on the same line, share tokens."""

    def __init__(self, runs: NDArray[np.uint64]) -> None:
        self.runs = runs
        whole = len(runs) // _BLOCK * _BLOCK
        blocks = [
            _mixed(runs[i : min(i + _AT_ONCE, whole)] ^ _SEEDS).reshape(DIGITS, -1, _BLOCK).min(axis=2)
            for i in range(0, whole, _AT_ONCE)
        ]
        self.levels = [np.concatenate(blocks, axis=1)] if blocks else []
        while self.levels and (pairs := self.levels[-1].shape[1] // 2):
            self.levels.append(self.levels[-1][:, : 2 * pairs].reshape(DIGITS, pairs, 2).min(axis=2))

    def sketch(self, first: int, end: int) -> str:
        """Returns the digits for the runs from `first` up to, but not including, `end`; '' if there are too few
        runs."""
        if end - first < _FEWEST_RUNS:
            return ""
        left, right = -(-first // _BLOCK), end // _BLOCK
        if left >= right:
            return _digits(_mixed(self.runs[first:end] ^ _SEEDS).min(axis=1))
        edges = np.concatenate((self.runs[first : left * _BLOCK], self.runs[right * _BLOCK : end]))
        parts = [_mixed(edges ^ _SEEDS).min(axis=1)] if len(edges) else []
        for level in self.levels:
            if left >= right:
                break
            if left % 2:
                parts.append(level[:, left])
                left += 1
            if right % 2:
                right -= 1
                parts.append(level[:, right])
            left, right = left // 2, right // 2
        return _digits(np.minimum.reduce(parts))


def _digits(least: NDArray[np.uint64]) -> str:
    return "".join(f"{digit:x}" for digit in (least & np.uint64(15)).tolist())


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Applies the SplitMix64 finaliser (Steele, Lea and Flood, OOPSLA 2014): every bit depends on every other bit."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
