"""Replaces this machine's paths in a run's output, so that people and models see the paths inside the sandbox."""

import re
from collections.abc import Mapping


def without_host_paths(text: str, places: Mapping[str, str]) -> str:
    """The text with each path in `places`, and the paths below it, replaced. Only whole paths match, not parts of
    longer paths or names."""
    named = sorted((place for place in places if place.strip("/")), key=len, reverse=True)
    if not named:
        return text
    pattern = re.compile(rf"(?<![\w./~-])(?:{'|'.join(map(re.escape, named))})(?![\w-])")
    return pattern.sub(lambda match: places[match[0]], text)
