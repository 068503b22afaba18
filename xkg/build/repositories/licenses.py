"""Detects the licences of a repository and its files. Uses only unambiguous licence files and file headers."""

import re
from collections.abc import Iterable, Mapping

FILE_NAME = re.compile(r"(?i)^(un)?licen[cs]e([-_.].*)?$|^copying([-_.].*)?$")
NOTICE = re.compile(r"(?i)^notice([-_.].*)?$")
"""Matches a file that must accompany every copy (Apache-2.0, 4 d)."""
UNKNOWN = "NOASSERTION"
_HEADER = 4000
"""The number of characters at the start of a file that are treated as its header."""

# The order matters. A licence that quotes another must come before the quoted one.
_EVIDENT: tuple[tuple[str, str], ...] = (
    (r"attribution-noncommercial-sharealike 4\.0", "CC-BY-NC-SA-4.0"),
    (r"attribution-noncommercial-noderivatives 4\.0", "CC-BY-NC-ND-4.0"),
    (r"attribution-noncommercial 4\.0", "CC-BY-NC-4.0"),
    (r"attribution-sharealike 4\.0", "CC-BY-SA-4.0"),
    (r"attribution 4\.0 international", "CC-BY-4.0"),
    (r"cc0 1\.0 universal", "CC0-1.0"),
    (r"gnu affero general public license version 3", "AGPL-3.0"),
    (r"gnu lesser general public license version 3", "LGPL-3.0"),
    (r"gnu lesser general public license version 2\.1", "LGPL-2.1"),
    (r"gnu general public license version 3", "GPL-3.0"),
    (r"gnu general public license version 2", "GPL-2.0"),
    (r"mozilla public license,? version 2\.0", "MPL-2.0"),
    (r"apache license,? (?:version )?2\.0", "Apache-2.0"),
    (r"boost software license - version 1\.0", "BSL-1.0"),
    (r"this is free and unencumbered software released into the public domain", "Unlicense"),
    (r"permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"),
    (r"permission to use, copy, modify, and/or distribute this software", "ISC"),
    (r"neither the names? of .{1,200}? (may|nor).{1,200}? be used to endorse or promote", "BSD-3-Clause"),
    (r"redistributions of source code must retain the above copyright notice", "BSD-2-Clause"),
)


def spdx(text: str) -> str:
    """Returns the SPDX identifier (https://spdx.org/licenses) of a licence text, or `NOASSERTION` if it is unclear."""
    if tag := _tag(text):
        return tag
    words = " ".join(re.sub(r"[^\w.,/+-]+", " ", text).lower().split())
    matches = [(m.start(), name) for pattern, name in _EVIDENT if (m := re.search(pattern, words))]
    # The first licence applies; later ones are only compared, quoted or bundled.
    return min(matches, default=(0, UNKNOWN), key=lambda pair: pair[0])[1]


def file_licenses(
    license_id: str | None, folders: Mapping[str, str], files: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Returns the licences of `files` (path and text) that differ from the repository's licence, keyed by path. Uses
    the SPDX tag in a file's header, or else the licence of the nearest parent folder in `folders`, which maps folders
    with a licence file to their licence."""
    found = {}
    for path, text in files:
        parents = [path[:end] for end, character in enumerate(path) if character == "/"]
        nearest = next((folders[parent] for parent in reversed(parents) if parent in folders), license_id)
        own = _tag(text[:_HEADER]) or nearest
        if own is not None and own != license_id:
            found[path] = own
    return found


def _tag(text: str) -> str | None:
    tag = re.search(r"SPDX-License-Identifier:[ \t]*([\w.+-]+(?: (?:AND|OR|WITH) [\w.+-]+){0,8})", text)
    return tag[1] if tag else None
