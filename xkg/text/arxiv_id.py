"""arXiv's ids, as people and agents write them: https://info.arxiv.org/help/arxiv_identifier.html."""

import re
from typing import NamedTuple

_ID = r"(?P<number>\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[a-z-]+)?/\d{7})(?P<version>v[1-9]\d{0,3})?"
_NAME = re.compile(
    r"(?ai)(?:arxiv:\s*|(?:https?://)?(?:[\w-]+\.)*(?:arxiv|ar5iv)\.org/(?:abs|pdf|html|src|e-print|format)/"
    rf"|(?:https?://(?:dx\.)?doi\.org/|doi:)?10\.48550/arxiv\.)?{_ID}(?:\.pdf)?/?(?:[?#].*)?"
)


class ArxivId(NamedTuple):
    """`number` as in `2401.01234` or `cs/0112017`; `version` as in `v2`, '' for the newest."""

    number: str
    version: str

    def __str__(self) -> str:
        return self.number + self.version


def arxiv_id(spec: str) -> ArxivId | None:
    """The id in an id with or without `arXiv:`, or in the address of a paper's page; None for anything else."""
    match = _NAME.fullmatch(spec.strip())
    if match is None:
        return None
    number = re.sub(r"\.[a-z-]+(?=/)", "", match["number"].lower())  # math.GT/0309136 is math/0309136
    return ArxivId(number, (match["version"] or "").lower())
