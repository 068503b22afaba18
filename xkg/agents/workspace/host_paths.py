"""Replaces this machine's paths in a run's output with paths inside the sandbox."""

import re
from collections.abc import Mapping


def without_host_paths(text: str, places: Mapping[str, str]) -> str:
    """Replaces each path in `places`, including at the start of longer paths. Does not replace parts of longer
    names."""
    named = sorted((place for place in places if place.strip("/")), key=len, reverse=True)
    if not named:
        return text
    pattern = re.compile(rf"(?<![\w./~-])(?:{'|'.join(map(re.escape, named))})(?![\w-])")
    return pattern.sub(lambda match: places[match[0]], text)
