"""Parses a Markdown paper's front matter: the metadata block and the rows between title and text."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from xkg.build.paper.front_matter import FrontRow

_RAISED = re.compile(
    r"\$[^$\n]{0,80}\$|\\\((?:[^\\\n]|\\[^)\n]){0,80}\\\)|<su[pb]>[^<\n]{0,80}</su[pb]>|\^[^^\s]{1,10}\^|\\textsuperscript\{[^{}\n]{0,80}\}"
    r"|_\[[\d,∗*†‡§¶ ]{1,12}\]_|\[\^?[\d,∗*†‡§¶ ]{1,12}\](?:\([^()\n]{0,200}\))?|!\[[^\]\n]{0,200}\]\([^()\n]{0,300}\)"
)
_MARKUP = re.compile(
    r"^#+\s+|<[^<>@\n]{1,80}>|(?<!\*)\*\*++(?=[^\W\d_])|(?<=[^\W\d_])\*\*+|(?<!\w)_(?=[^\W\d_])|(?<=\w)_(?!\w)"
)
_CELL_END = re.compile(r"</(?:td|th|p|div|li)>", re.I)
_ITEM = re.compile(r"(?:[-+•]|\*(?!\*)|\d{1,2}[.)])\s+|<li>\s*", re.I)
_AUTHORS_HEADING = re.compile(r"(?i)#+\W{0,5}authors?\W*$")
_BOLD_BESIDE = re.compile(r"(\*\*[^*\n]{1,200}\*\*)(?![^*\n]*\*\*)\W{0,20}((?!and\b)[^\W\d_]{2}.{0,300})$")
_NOTE = re.compile(r"\^\[[^\[\]\n]{0,400}\]")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\n]{1,300}\)")
_FRONT_FIELD = re.compile(
    r"^(title|authors?|abstract|date|year|doi|arxiv(?:_id)?)\s*+:\s*+[\"']?(.*)$", re.MULTILINE | re.IGNORECASE
)


def author_name(author: Any) -> str:
    """Returns the author's name from a metadata entry."""
    name = (author.get("name") or author) if isinstance(author, dict) else author
    if isinstance(name, dict) and len(name) == 1:  # `- Ann Lee: {institute: …}`
        name = next(iter(name))
    whole = f"{name.get('given', '')} {name.get('family', '')}" if isinstance(name, dict) else str(name)
    return _NOTE.sub("", _RAISED.sub("", whole))


def _unquoted(value: str) -> str:
    value = value.rstrip()
    return value.removesuffix(value[-1:] if value.endswith(("'", '"')) else "").strip()


def front_fields(block: str) -> Mapping[str, Any]:
    """Returns the fields in a YAML, TOML or Pandoc block, keyed by name. If the block is invalid, reads only its
    single-line fields."""
    if block.startswith("%"):
        parts = re.split(r"^%", block[1:], flags=re.MULTILINE)
        return {"title": parts[0], "author": "".join(parts[1:2]), "date": "".join(parts[2:])}
    if block.startswith("**"):
        block = block.replace("**", "")
    try:
        fields = tomllib.loads(block) if re.match(r"\s*\w+\s*=", block) else yaml.safe_load(block)
    except (yaml.YAMLError, RecursionError, ValueError):
        fields = {name: _unquoted(value) for name, value in _FRONT_FIELD.findall(block)}
    return {str(name).lower(): value for name, value in fields.items()} if isinstance(fields, dict) else {}


def front_rows(text: str) -> Iterator[FrontRow]:
    """Yields the lines between a title and the next heading. A list of names may itself be a heading."""
    first = apart = True
    items: list[str] = []
    for line in (*re.split(r"\n|<br */?>|\s&(?=[^\W\d_])", _CELL_END.sub("\n\n", text)), ""):
        plain = _LINK.sub(r"\1", _RAISED.sub("†", line)).strip()
        if item := _ITEM.match(plain):
            items.append(re.split(r"[,(:–—]", _MARKUP.sub("", plain[item.end() :]), maxsplit=1)[0])
            continue
        if items:  # either all items begin with names, or none do
            yield FrontRow("; ".join(items), "list", apart)
            items = []
        if plain.startswith("#") and not (first and re.search(r",|\band\b|†", plain)):
            if _AUTHORS_HEADING.match(plain):
                continue
            return
        if plain:
            look = (plain.startswith("#"), plain.startswith("**"), plain.startswith("_"))
            beside = _BOLD_BESIDE.match(plain)  # a name before its affiliation
            for part in beside.groups() if beside else (plain,):
                yield FrontRow(_MARKUP.sub("", part), look, apart)
                look, apart = (False, False, False), False
        first, apart = first and not plain, not plain
