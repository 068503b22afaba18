"""Checks that the licences of xkg's dependencies allow its own licence, as docs/reference/licences.md says."""

import re
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

ALLOWED = re.compile(
    r"\b(MIT|MIT-0|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|Python-2\.0|Zlib|CC0|dependency licenses)\b"
)
MOZILLA = {"certifi"}
"""These packages are under the Mozilla Public License, whose terms apply only to their own files."""


def test_every_dependency_is_under_a_licence_that_allows_ours() -> None:
    licences = {package.metadata["Name"].lower(): _licence(package) for package in set(_installed("xkg", ("all",)))}
    assert len(licences) > 50
    other = {name: licence for name, licence in licences.items() if not _allowed(licence)}
    assert set(other) <= MOZILLA, other


def _allowed(licence: str) -> bool:
    parts = re.split(r" AND |, ", licence)
    return all(ALLOWED.search(part) for part in parts)


def _licence(package: metadata.Distribution) -> str:
    told = package.metadata
    classifiers = [line.split(" :: ")[-1] for line in told.get_all("Classifier") or () if line.startswith("License")]
    return told.get("License-Expression") or ", ".join(classifiers) or told.get("License") or "none is told"


def _installed(name: str, extras: tuple[str, ...]) -> Iterator[metadata.Distribution]:
    """Returns the installed package and all its dependencies."""
    pending, seen = [(name, extras)], set()
    while pending:
        name, extras = pending.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        package = metadata.distribution(name)
        yield package
        for line in package.requires or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                pending.append((needed.name, tuple(sorted(needed.extras))))
