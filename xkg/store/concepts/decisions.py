"""What was decided about pairs of techniques: files beside the bundles.

A decision holds for two techniques by id and by the text that was judged. A changed definition is a new question; the
old answer is kept, for a text that comes back.
"""

import hashlib
import json

from xkg.model import Technique
from xkg.store.graph_store import Decision
from xkg.store.hashed_files import HashedFiles

_FILES = HashedFiles("links", Decision, lambda decision: decision.key, "`xkg concepts` decides again what it held")
FOLDER = _FILES.folder
write, read, readable = _FILES.write, _FILES.read, _FILES.readable


def text_hash(technique: Technique) -> str:
    """The hash of what a decision about a technique is about: its names and its definition."""
    return _hash(technique.name, *technique.aliases, "", technique.definition)


def judged(first: str, second: str) -> str:
    """The hash of two texts from their hashes, that of the lower technique id first."""
    return _hash(first, second)


def _hash(*parts: str) -> str:
    text = json.dumps(parts)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
