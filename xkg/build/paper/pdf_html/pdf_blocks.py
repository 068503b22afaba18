"""Groups the lines of a printed paper into titles, headings, paragraphs, captions, algorithms, equations and
references.

Omits all other text, such as figure labels, table cells and footnotes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xkg.build.paper.pdf_html.pdf_front import find_title, opens, unnamed_abstract
from xkg.build.paper.pdf_html.pdf_headings import HeadingFonts, without_number
from xkg.build.paper.pdf_html.pdf_kinds import Kind, in_size, introduces, is_caption, kind_of
from xkg.build.paper.pdf_html.pdf_layout import Placed, body_size
from xkg.build.paper.pdf_html.pdf_marks import CAPTION, TERMINAL, is_math, text_of
from xkg.build.paper.pdf_html.pdf_paragraphs import groups
from xkg.build.paper.pdf_html.pdf_references import entries


@dataclass(frozen=True, slots=True)
class Block:
    """A block of consecutive lines of the same kind. `level` is the heading level, counted from 1, or 0 for other
    blocks."""

    kind: Kind
    lines: tuple[Placed, ...]
    level: int = 0

    @property
    def text(self) -> str:
        return " ".join(placed.line.text.strip() for placed in self.lines)


def blocks(lines: Sequence[Placed], title: str) -> list[Block]:
    """Returns the blocks in reading order. `title`, from the metadata, is used only if it also occurs on the first
    page."""
    if not lines:
        return []
    body = body_size(placed.line for placed in lines)
    first, last = find_title(lines, title, body)
    fonts = HeadingFonts(lines[last:], body)
    out = [Block("title", tuple(lines[first:last]))] if last > first else []
    grouped = list(groups(lines[last:], body, fonts))
    headed = (i for i, group in enumerate(grouped) if fonts.level(group) and text_of(group).startswith("1"))
    begins = next((i for i, group in enumerate(grouped) if opens(group, fonts)), next(headed, 0))
    abstract = unnamed_abstract(grouped[:begins], body)
    cited: list[Placed] | None = None
    for index, group in enumerate(grouped):
        level = fonts.level(group) if index >= begins else 0
        if level:
            out += _bibliography(cited or (), body, fonts)
            cited = [] if re.match(r"(?i)\W*(references|bibliography)\b", without_number(text_of(group))) else None
            out.append(Block("heading", group, level))
        elif cited is not None:
            if is_caption(group, body):
                out.append(Block("caption", group))  # the caption of a float between references
            else:
                cited += group if not CAPTION.match(text_of(group)) else ()
        elif index < begins:
            out.append(Block("abstract" if index in abstract else "front", group))
        elif (kind := kind_of(group, body) or _rest(out, group, body)) is not None:
            out.append(Block(kind, group))
        elif introduces(group, grouped[index - 1 : index] + grouped[index + 1 : index + 2], body):
            out.append(Block("text", group))
    out += _bibliography(cited or (), body, fonts)
    return _whole(out, body)


def _bibliography(lines: Sequence[Placed], body: float, fonts: HeadingFonts) -> list[Block]:
    found, after = entries(lines)
    text = [Block(kind, group) for group in groups(after, body, fonts) if (kind := kind_of(group, body)) is not None]
    return [Block("reference", entry) for entry in found] + text


def _rest(out: Sequence[Block], group: Sequence[Placed], body: float) -> Kind | None:
    """Returns "text" if the group ends a paragraph continued at the top of a column. Otherwise, returns None."""
    before = next((block for block in reversed(out) if not _stands_between(block, body)), None)
    if before is None or before.kind != "text" or CAPTION.match(text_of(group)) or is_math(group[0]):
        return None
    cut = in_size(group[0], body) and TERMINAL.search(text_of(group)) and len(group) < 3
    return "text" if cut and _goes_on(before, Block("text", tuple(group))) else None


def _whole(blocks: Sequence[Block], body: float) -> list[Block]:
    """Joins paragraphs, lists of steps and references split by a column break or float."""
    out: list[Block] = []
    for block in blocks:
        index = len(out) - 1
        if block.kind == "text" and in_size(block.lines[0], body):
            while index >= 0 and _stands_between(out[index], body):
                index -= 1
        before = out[index] if index >= 0 else None
        if before is not None and before.kind == block.kind and _goes_on(before, block):
            out[index] = Block(block.kind, (*before.lines, *block.lines))
        else:
            out.append(block)
    return out


def _stands_between(between: Block, body: float) -> bool:
    """Returns whether a block may be all or part of a float that interrupts a paragraph."""
    if between.kind in ("caption", "algorithm"):
        return True
    return between.kind == "text" and not in_size(between.lines[0], body)


def _goes_on(before: Block, block: Block) -> bool:
    if block.kind == "equation":
        return True
    if block.kind != "text" or TERMINAL.search(before.text) or block.text[0].isdigit():
        return False
    first, last = block.lines[0], before.lines[-1]
    return last.column != first.column and abs(last.line.size - first.line.size) < 0.6
