"""The output of a run without the paths of this machine: whoever reads it, a person or a model, sees those inside."""

import re
from collections.abc import Mapping


def without_host_paths(text: str, places: Mapping[str, str]) -> str:
    """The text with each path of `places`, and what lies below it, under the path that stands for it. A path counts
    where it stands alone: neither as a part of a longer one nor of a longer name."""
    named = sorted((place for place in places if place.strip("/")), key=len, reverse=True)
    if not named:
        return text
    pattern = re.compile(rf"(?<![\w./~-])(?:{'|'.join(map(re.escape, named))})(?![\w-])")
    return pattern.sub(lambda match: places[match[0]], text)
