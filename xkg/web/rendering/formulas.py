"""Renders text from papers and models, with formulas as MathML and code spans as code. Everything else is escaped."""

import functools
import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from xkg.web.rendering.long_texts import cut

if TYPE_CHECKING:
    from lxml.etree import _Element

LONGEST_FORMULA = 2000
LONG_FORMULA = 48
"""Inline formulas of at least this length scroll if they are wider than the column."""

# Matches $x$ (as in Pandoc, so that "$5 and $6" remains text), \(x\), $$x$$, \[x\] and `code`. Nested delimiters are
# not supported, so matching takes linear time even if many delimiters are unclosed. Also matches formulas without
# delimiters, such as a command with braces, or a letter with subscripts or superscripts. Examples are \bar{w}, p_T,
# ∇_{x_t} and v_i^ℓ.
_FORMULA = re.compile(
    r"\$\$(?P<d1>[^$]{1,2000}+)\$\$|\\\[(?P<d2>(?:[^\\]|\\(?![\[\]])){1,2000}+)\\\]"
    r"|\\\((?P<i2>(?:[^\\]|\\(?![()])){1,2000}+)\\\)|\$(?P<i1>(?![\s$])(?:[^$\\]|\\.){1,2000}+)(?<!\s)\$(?!\d)"
    r"|(?<!`)`(?P<code>[^`\n]{1,300}+)`(?!`)"
    r"|(?P<bare>\\[A-Za-z]{2,20}(?:\{[^{}$\n]{1,40}\}){1,2})"
    r"|(?<![\w\\/.-])(?P<base>[^\W\d_]['′*]?|[∇∑∏])"
    r"(?P<scripts>(?:[_^](?:\{(?:[^{}\n$]|\{[^{}\n$]{0,40}\}){1,40}\}|\([^\W_]{1,3}\)|[^\W_]{1,12}[′+*⁺⁻−]?)){1,2})(?![\w(]?\w*=)"
)
_SCRIPT = re.compile(r"([_^])(?:\{((?:[^{}]|\{[^{}]*\})*)\}|([^_^]+))")
_BROKEN = re.compile(r"(?<!\n)\n(?![ \t\n]|[-*•+] |\d{1,2}[.)] )")
_ENVIRONMENT = re.compile(r"\\(begin|end)\{(?:aligned|gathered|split|alignedat|multlined)\}")
_UNKNOWN = re.compile(r"\\(?:operatorname|mathop)\*")
_CONTROL = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Matches characters that XML cannot contain."""

_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = frozenset(
    "math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts "
    "mtable mtr mtd mpadded mphantom mstyle".split()
)
_ATTRIBUTES = frozenset(
    "display displaystyle scriptlevel stretchy fence form accent accentunder linethickness mathvariant width "
    "columnalign rowspacing columnspacing minsize maxsize separator lspace rspace movablelimits symmetric".split()
)


def formulas(text: str) -> Markup:
    """Renders text as HTML. Formulas between `$`, `\\(` or `\\[` are rendered, blank lines separate paragraphs, and
    long text is cut."""
    paragraphs = re.split(r"\n[^\S\n]*+\n\s*+", cut(text.strip()))
    return Markup("").join(Markup("<p>{}</p>").format(inline_formulas(part)) for part in paragraphs if part)


def flowing(text: str) -> Markup:
    """Like `formulas`, but for hard-wrapped text: joins the lines in a paragraph, except list items and indented
    lines."""
    return formulas(_BROKEN.sub(" ", cut(text)))


def inline_formulas(text: str) -> Markup:
    """Like `formulas`, but without paragraphs."""
    parts: list[Markup] = []
    text, end = cut(text), 0
    for match in _FORMULA.finditer(text):
        parts += [escape(text[end : match.start()]), _marked_up(match)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def _marked_up(match: re.Match[str]) -> Markup:
    if (code := match["code"]) is not None:
        return Markup("<code>{}</code>").format(code)
    if match["base"] is not None:
        return Markup('<span class="math"><var>{}</var>{}</span>').format(match["base"], _scripts(match["scripts"]))
    tex = match[match.lastgroup or 0]
    return mathml(tex, display=(match.lastgroup or "").startswith("d"))


def _scripts(text: str) -> Markup:
    parts: list[Markup] = []
    end = 0
    for match in _SCRIPT.finditer(text):
        script = Markup("<sub>{}</sub>") if match[1] == "_" else Markup("<sup>{}</sup>")
        parts += [escape(text[end : match.start()]), script.format(_scripts(match[2] or match[3]))]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


@functools.lru_cache(4096)
def mathml(tex: str, *, display: bool = False) -> Markup:
    """Renders a formula as presentation MathML, or its source as code if it cannot be parsed."""
    # A server for agents shows no formulas, and saves 5 MB without these libraries.
    from latex2mathml.converter import convert
    from lxml import etree

    source = Markup('<code class="tex">{}</code>').format(tex)
    if len(tex) > LONGEST_FORMULA:
        return source
    wanted = _ENVIRONMENT.sub(lambda m: f"\\{m[1]}{{align*}}", _UNKNOWN.sub(r"\\operatorname", tex))
    try:
        made = convert(wanted, display="block" if display else "inline")
        root = etree.fromstring(made.encode(), etree.XMLParser(resolve_entities=False, no_network=True))
    except Exception:  # the library may raise its own errors, IndexError or RecursionError
        return source
    if not _clean(root):
        return source
    root.set("alttext", _CONTROL.sub("", tex))
    made = Markup(etree.tostring(root, encoding="unicode"))
    return made if display or len(tex) < LONG_FORMULA else Markup('<span class="tex-line">{}</span>').format(made)


def _clean(root: "_Element") -> bool:
    """Removes unknown attributes. Returns False if the formula contains unknown elements or commands."""
    for element in root.iter():
        if not isinstance(element.tag, str) or element.tag.removeprefix(_NAMESPACE) not in _ELEMENTS:
            return False
        if (element.text or "").startswith("\\"):  # the library does not know this command
            return False
        for name in set(element.attrib) - _ATTRIBUTES:
            del element.attrib[name]
    return True
