"""Converts running text in HTML to Markdown. Converts formulas to TeX, marks emphasis, and omits notes and invisible
elements."""

import re
from typing import Any

from xkg.build.paper.markdown.writer import literal

_SKIPPED = frozenset(("script", "style", "button", "svg", "noscript", "template", "img", "annotation-xml"))
_SKIPPED_CLASSES = frozenset(
    ("ltx_note", "ltx_ERROR", "ltx_rdf", "ltx_tag_item", "katex-html", "MathJax_Preview",
     "ltx_eqn_eqno", "ltx_tag_listingline", "reference-accessdate"),
)  # fmt: skip
_ITALIC, _BOLD = {"em", "i", "dfn"}, {"b", "strong"}
_MONOSPACE = {"code", "tt", "kbd", "samp"}
_LONGEST_EMPHASIS = 100
BREAK = "\v"  # a whitespace character used only for `br`


def classes(element: Any) -> frozenset[str]:
    return frozenset(str(element.get("class") or "").split())


def is_display(element: Any) -> bool:
    """Returns whether a `math` element is a displayed formula."""
    return element.get("display") == "block" and not any("ltx_eqn_cell" in classes(e) for e in element.iterancestors())


def is_tex(element: Any) -> bool:
    """Returns whether an element is a MathJax formula: a script whose type begins with `math/tex`."""
    return element.tag == "script" and str(element.get("type") or "").startswith("math/tex")


def formula(element: Any) -> str:
    """Returns the TeX of a `math` element or a MathJax script. Uses the `alttext`, the annotation or the element's
    characters."""
    annotations = element.xpath(".//annotation[contains(@encoding, 'tex') or contains(@encoding, 'TeX')]")
    tex = element.get("alttext") or (annotations[0].text_content() if annotations else element.text_content())
    tex = re.sub(r"(?<!\\)%\s*\n?", "", str(tex)).replace("$", "")
    return " ".join(re.sub(r"^\s*\\displaystyle\s*", "", tex).split())


def rendered(element: Any) -> str:
    """Returns an element's text as Markdown, with displayed formulas between lines of `$$`."""
    return _rendered(element, marks=True)


def plain_text(element: Any) -> str:
    """Returns an element's text without emphasis markup."""
    return _rendered(element, marks=False)


def _rendered(element: Any, *, marks: bool) -> str:
    names = classes(element)
    if is_tex(element):
        return _formula(element, display="mode=display" in element.get("type"))
    if element.tag in _SKIPPED or not _SKIPPED_CLASSES.isdisjoint(names) or element.get("hidden") is not None:
        return ""
    if element.tag == "math":
        return _formula(element, display=is_display(element))
    if element.tag == "br":
        return BREAK
    text = literal(element.text or "") if marks else element.text or ""
    parts = [text]
    for child in element:
        if isinstance(child.tag, str):
            parts.append(_rendered(child, marks=marks))
        parts.append(literal(child.tail or "") if marks else child.tail or "")
    text = "".join(parts)
    return _emphasised(text, _mark(element, names)) if marks else text


def _formula(element: Any, *, display: bool) -> str:
    tex = formula(element)
    if not tex:
        return ""
    return f"\n$$\n{tex}\n$$\n" if display else f"${tex}$"


def _mark(element: Any, names: frozenset[str]) -> str:
    if element.tag in _MONOSPACE or "ltx_font_typewriter" in names:
        return "`"
    if element.tag in _BOLD or "ltx_font_bold" in names:
        return "**"
    return "*" if element.tag in _ITALIC or names & {"ltx_emph", "ltx_font_italic", "ltx_font_slanted"} else ""


def _emphasised(text: str, mark: str) -> str:
    bare = text.strip()
    words = bool(re.search(r"[^\W\d_]{2}", bare)) and not re.search(r"[$*`\n\v]", bare)
    if not mark or not words or len(bare) > _LONGEST_EMPHASIS:
        return text
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{lead}{mark}{bare}{mark}{tail}"
