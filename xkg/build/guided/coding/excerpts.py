"""The few lines of a symbol by which a reader tells what it does."""

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence

from xkg.build.grounding.identifier_words import stems
from xkg.build.grounding.symbol_index import Entry

_DOCSTRING = 160
_SIGNATURE = 200
_LINE = 160
_WHOLE = 3
# A word that was shown tells less when it comes again.
_AGAIN = 0.5
# What a line computes counts beside what it names.
_MOST_TOLD = 2.0
_CALL = re.compile(r"[\w\])]\(")
_OPERATOR = re.compile(r"[\w)\]]\s*(?:\*\*|[-+*/@%])=?\s*[\w(\[]")
_FORMULA = re.compile(r"\b(?:exp|log|sum|mean|sqrt|norm|solve|einsum|softmax|argmax|argmin|min|max|loss)\b|_loss\b")
_VALUE = re.compile(r"\s*(?:return|yield)\b|[^=!<>(]*[^=!<>]=(?!=)")
_ASIDE = re.compile(r"\s*(?:(?:import|from|assert|raise|try|except|pass|global|del)\b|//|#)")
# A parameter that is only kept, and what returns names alone.
_KEPT = re.compile(r"\s*self\.(\w+)\s*=\s*\1\s*$|\s*return\b[\w\s,.()]*$")
_SYMBOL = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_TALK = re.compile(r"\s*(?:print|log|logger|logging|warnings|wandb|writer|tqdm)\b[.(]|\s*\w*parser\.add_argument")
_DOCSTRINGS = re.compile(r'^[ \t]*[rRuU]?("""|\'\'\')[\s\S]*?\1', re.MULTILINE)
_HEADER_END = re.compile(r"(?::|\{)\s*+(?:(?:#|//)(?s:.*))?$")
_INNER = re.compile(r"\s*(?:async\s+)?(?:def|class|function|fn)\b")


def subject(text: str) -> frozenset[str]:
    """What the lines about a text can share with it: the stems of its words, and its symbols of one letter."""
    return frozenset(stems(text)) | (frozenset(_SYMBOL.findall(text)) - {"a", "A", "I"})


def excerpt(entry: Entry, about: Collection[str], limit: int, inner: Mapping[tuple[int, int], str]) -> str:
    """Signature, head of the docstring, and at most about `limit` lines of the body: all of a short one, else those
    that compute and share most with `about` (a `subject`), with `…` where lines are left out. `inner` gives, for parts
    of it that are shown elsewhere (first and last line in the file), what stands for them here."""
    symbol = entry.source.symbol
    docstring = " ".join(entry.source.docstring.split("\n\n")[0].split())
    lines = [] if symbol.kind == "module" else [_cut(" ".join(symbol.signature.split()), _SIGNATURE)]
    if docstring:
        lines.append(f'    """{_cut(docstring, _DOCSTRING)}"""')
    return "\n".join([*lines, *_telling(_body(entry, inner), about, limit)])


def _body(entry: Entry, inner: Mapping[tuple[int, int], str]) -> list[str | None]:
    """The lines that may be shown, None for one that is always left out."""
    text = _DOCSTRINGS.sub(lambda docstring: "\n" * docstring[0].count("\n"), entry.text)
    lines: list[str | None] = [line.rstrip() for line in text.split("\n")]
    if entry.kind != "module":
        # Decorators and a signature of several lines: the signature was said before.
        end = next((i for i, line in enumerate(lines[:40]) if _HEADER_END.search(line or "")), -1)
        lines[: end + 1] = [""] * (end + 1)
    top = entry.source.symbol.start_line
    for (first, last), instead in inner.items():
        was = lines[first - top] or ""
        lines[first - top : last - top + 1] = [""] * (last - first + 1)
        lines[first - top] = was[: len(was) - len(was.lstrip())] + instead
    told = [line for line in lines if re.search(r"\w", line or "")]
    dedented = textwrap.dedent("\n".join(line or "" for line in told)).split("\n") if told else []
    return [None if _TALK.match(line) else _cut(f"    {line}", _LINE) for line in dedented]


def _telling(body: Sequence[str | None], about: Collection[str], limit: int) -> list[str]:
    shown = {i: line for i, line in enumerate(body) if line is not None}
    kept = set(shown) if len(shown) <= limit + _WHOLE else _best(shown, about, limit)
    lines: list[str] = []
    last = -1
    for i in [*sorted(kept), len(body)]:
        if i != last + 1:
            lines.append("    …")
        lines += [shown[i]] if i in kept else []
        last = i
    return lines


def _best(body: Mapping[int, str], about: Collection[str], limit: int) -> set[int]:
    said = {i: {*stems(line), *_SYMBOL.findall(line)}.intersection(about) for i, line in body.items()}
    shape = {i: _shape(line) for i, line in body.items()}
    worth = dict.fromkeys(about, 1.0)
    kept: set[int] = set()
    # The first lines say what it starts from.
    starting = [i for i in body if shape[i] > 0][: limit // 5]
    for n in range(limit):
        rest = [i for i in body if i not in kept]
        chosen = starting[n] if n < len(starting) else max(rest, key=lambda i: (_told(said[i], worth) + shape[i], -i))
        kept.add(chosen)
        for word in said[chosen]:
            worth[word] *= _AGAIN
    return kept


def _told(said: Collection[str], worth: Mapping[str, float]) -> float:
    return min(_MOST_TOLD, sum(worth[word] for word in sorted(said)))


def _shape(line: str) -> float:
    """What a line tells whatever it is about: one that computes most, imports and assertions least."""
    if _INNER.match(line) or line.lstrip().startswith("["):
        return 1.5
    if _ASIDE.match(line):
        return -1.5
    if _KEPT.match(line):
        return -0.5
    computes = 0.0
    if _VALUE.match(line):
        computes = 1.0 if _OPERATOR.search(line) else 0.5 if _CALL.search(line) else 0.0
    return computes + (0.5 if _FORMULA.search(line) else 0.0)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
