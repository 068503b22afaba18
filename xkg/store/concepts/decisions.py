"""Stores decisions about pairs of techniques in files next to the bundles.

A decision is valid for two technique ids and the texts that were judged. If a definition changes, the pair is judged
again. The old decision is kept in case the old text is restored."""

import hashlib
import json

from xkg.model import Technique
from xkg.store.graph_store import Decision
from xkg.store.hashed_files import HashedFiles

_FILES = HashedFiles(
    "links", Decision, lambda decision: decision.key, "run `xkg concepts` to recreate the lost decisions"
)
FOLDER = _FILES.folder
write, read, readable = _FILES.write, _FILES.read, _FILES.readable


def text_hash(technique: Technique) -> str:
    """Returns the hash of a technique's names and definition, on which decisions about the technique depend."""
    return _hash(technique.name, *technique.aliases, "", technique.definition)


def judged(first: str, second: str) -> str:
    """Combines the hashes of two texts. The hash for the lower technique id comes first."""
    return _hash(first, second)


def _hash(*parts: str) -> str:
    text = json.dumps(parts)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
