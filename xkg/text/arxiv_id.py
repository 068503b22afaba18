"""Parses arXiv ids as people and agents write them: https://info.arxiv.org/help/arxiv_identifier.html."""

import re
from typing import NamedTuple

from xkg.text.address import address
from xkg.text.doi import canonical_doi

_ID = re.compile(
    r"(?ai)(?P<number>\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[a-z-]+)?/\d{7})(?P<version>v[1-9]\d{0,3})?(?:\.pdf)?/?"
)
_HOST = re.compile(
    r"(?:[\w-]+\.)*(?:(?:arxiv|ar5iv|alphaxiv)\.org|(?P<papers>huggingface\.co|hf\.co|emergentmind\.com)"
    r"|(?P<arxiv>scirate\.com|papers\.cool))"
)
_PAGES = frozenset("abs pdf html ps src e-print format overview".split())
_MAY_NAME = re.compile(r"(?i)[x5]iv|%|[^\x00-\x7f]|\.com?/papers/")
_PREFIX = re.compile(r"(?i)(?:oai:)?arxiv(?:\.org)?:\s*")
_CATEGORY = re.compile(r"\s{0,4}\[[\w.-]{1,40}\](?:\s{1,4}\d{1,2} \w{3} \d{4})?$")  # arXiv prints this in the margin
_DOI = "10.48550/arxiv."


class ArxivId(NamedTuple):
    """An arXiv id. `number` has the form `2401.01234` or `cs/0112017`. `version` has the form `v2`, or is '' for the
    newest version."""

    number: str
    version: str

    def __str__(self) -> str:
        return self.number + self.version


def arxiv_id(spec: str) -> ArxivId | None:
    """Parses an id with or without `arXiv:`, the address of a paper's page, or a DOI issued by arXiv. Returns None for
    anything else."""
    text = _CATEGORY.sub("", spec.strip())
    prefix = _PREFIX.match(text)
    match = _ID.fullmatch(text[prefix.end() :] if prefix else text)
    if match is None and _MAY_NAME.search(text):
        match = _ID.fullmatch(_named_elsewhere(text))
    if match is None:
        return None
    number = re.sub(r"\.[a-z-]+(?=/)", "", match["number"].lower())  # for example, math.GT/0309136 becomes math/0309136
    return ArxivId(number, (match["version"] or "").lower())


def _named_elsewhere(text: str) -> str:
    try:
        place = address(text if "://" in text else f"https://{text}")
    except ValueError:
        place = None
    if place is not None and place.scheme in ("http", "https") and (host := _HOST.fullmatch(place.host)):
        page, *rest = place.words or [""]
        pages = ("papers",) if host["papers"] else ("arxiv",) if host["arxiv"] else _PAGES
        return _PREFIX.sub("", "/".join(rest), count=1) if page.lower() in pages else ""
    doi = canonical_doi(text) or ""
    return doi.removeprefix(_DOI) if doi.startswith(_DOI) else ""
