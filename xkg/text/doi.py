"""Parses DOIs as people write them: https://www.doi.org/doi-handbook/HTML/."""

import re
from contextlib import suppress
from urllib.parse import unquote

from xkg.text.address import address

_RESOLVERS = ("doi.org", "dx.doi.org", "www.doi.org")
_PREFIX = re.compile(r"(?i)(?:info:|urn:)?doi[:/]\s*")
_DOI = re.compile(r"10\.[0-9]{4,9}(?:\.[0-9]+)*/\S+")


def canonical_doi(spec: str) -> str | None:
    """Returns the DOI in lower case (DOIs are case-insensitive), without `doi:` or a resolver's address. Returns None
    for anything else."""
    text = _bare(spec.strip())
    if not _DOI.match(text):
        with suppress(ValueError):
            place = address(text if "://" in text else f"https://{text}")
            if place.host in _RESOLVERS:
                text = _bare(unquote(place.path).lstrip("/"))
    return text.lower() if _DOI.fullmatch(text) else None


def _bare(text: str) -> str:
    match = _PREFIX.match(text)
    return text[match.end() :] if match else text
