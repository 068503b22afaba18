"""Finds pseudocode in Markdown, either in fenced blocks with a heading such as "Algorithm 1 …" or without a fence."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from xkg.build.paper.document import Algorithm
from xkg.build.paper.latex.tex.formulas import math
from xkg.build.paper.markdown.blocks import Region, inside_any
from xkg.build.paper.markdown.text import inline

_HEAD = re.compile(
    r"[ \t>]*+(?:\*\*|#{1,6} |\\textbf\{)?\s*+(?:Algorithm|ALGORITHM|Procedure|Listing)\s+"
    r"[A-Z]?\.?\d{1,3}\b\s*[.:—–-]*\s*(?:\*\*|\})?\s*[.:]*\s*(?P<title>[^\n]*)"
)
_BEGINS = re.compile(r"#{1,6} (?=(?:Algorithm|ALGORITHM|Listing) )|(?=(?:\*\*|\\textbf\{)?(?:Algorithm|ALGORITHM) )")
_LINE_NUMBER = re.compile(r"^\d{1,2}\s*:\s+")
_DISPLAY = re.compile(r"\\\[((?:\\\\|(?!\\[\[\]]).){1,5000}+)\\\]|\$\$(.{1,5000}?)\$\$", re.DOTALL)
_STEP = re.compile(
    r"(?i)\s*(?:\d{1,2}\s*[:.]\s*\S|end\s*(?:for|if|while|procedure|function)?\b\s*+(?:[.;]\s*+)?$|"
    r"(?:return|input|output|require|ensure|until|repeat|initiali[sz]e|while|for|if|else)\b.{0,300}$|data:|result:)"
)


def markdown_algorithms(text: str, regions: Sequence[Region], lines: Sequence[tuple[int, int]]) -> list[Algorithm]:
    """Returns all algorithms in a Markdown paper. Each algorithm's offsets include its title and steps."""
    algorithms: list[Algorithm] = []
    starts = [start for start, _ in lines]
    until = -1
    for region in regions:
        if region.kind != "code" or region.start < until:
            continue
        title, body_start, start = _fenced_title(text, region, lines, starts)
        if title is None:
            continue
        algorithms.append(_algorithm(start, region.end, title, text[body_start : region.body_end]))
        until = region.end
    covered = [(a.start, a.end) for a in algorithms]
    for index, (start, end) in enumerate(lines):
        if end - start > 300 or any(a <= start < b for a, b in covered) or (start < until and not covered):
            continue
        head = _HEAD.match(text, start, end) if _BEGINS.match(text, start) else None
        if head is None or inside_any(list(regions), start) is not None:
            continue
        stop = _unfenced_end(text, index, lines)
        if stop is not None:
            algorithms.append(_algorithm(start, stop, head["title"], text[end:stop]))
            covered.append((start, stop))
    return algorithms


def _fenced_title(
    text: str, region: Region, lines: Sequence[tuple[int, int]], starts: list[int]
) -> tuple[str | None, int, int]:
    body = text[region.body_start : region.body_end]
    stripped = region.body_start + len(body) - len(body.lstrip())
    line_end = text.find("\n", stripped, region.body_end)
    line_end = region.body_end if line_end < 0 else line_end
    if head := _HEAD.match(text, stripped, line_end):
        return head["title"], line_end, region.start
    above = range(bisect_left(starts, region.start) - 1, -1, -1)
    below = range(bisect_left(starts, region.end), len(lines))
    for indices in (above, below):
        line = next((lines[index] for index in indices if text[slice(*lines[index])].strip()), (0, 0))
        if line[1] - line[0] < 200 and (head := _HEAD.match(text, *line)):
            return head["title"].rstrip("*: "), region.body_start, min(line[0], region.start)
    return None, 0, 0


def _unfenced_end(text: str, index: int, lines: Sequence[tuple[int, int]]) -> int | None:
    steps, last = 0, None
    for start, end in lines[index + 1 : index + 120]:
        line = text[start : min(end, start + 400)]
        if not line.strip():
            continue
        if not _STEP.match(line) and not line.startswith(("    ", "\t")):
            break
        steps += 1
        last = end
    return last if steps >= 2 else None


def _algorithm(start: int, end: int, title: str, body: str) -> Algorithm:
    steps = []
    for line in _DISPLAY.sub(lambda m: f"\n${math(m[1] or m[2])}$\n", body).split("\n"):
        readable = _LINE_NUMBER.sub("", inline(line.replace("```", ""), mathpix=True))
        if readable and re.search(r"[\w$]", readable):
            steps.append(readable)
    return Algorithm(
        start=start, end=end, title=inline(title.strip("*} "), mathpix=True).rstrip(" ."), body="\n".join(steps)
    )
