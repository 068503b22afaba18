"""What was decided about pairs of techniques: immutable files beside the bundles, of which a manifest names one.

A decision holds for two techniques by id and by the text that was judged. A changed definition is a new question; the
old answer is kept, for a text that comes back. The name of a file is the hash of its bytes.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from xkg.errors import CorruptStoreError
from xkg.files import write_whole
from xkg.model import Technique
from xkg.store.graph_store import Decision, Decisions

FOLDER = "links"
_FILE = TypeAdapter(tuple[Decision, ...])


def text_hash(technique: Technique) -> str:
    """The hash of what a decision about a technique is about: its names and its definition."""
    return _hash(technique.name, *technique.aliases, "", technique.definition)


def judged(first: str, second: str) -> str:
    """The hash of two texts from their hashes, that of the lower technique id first."""
    return _hash(first, second)


def write(root: Path, decisions: Iterable[Decision]) -> str:
    """Stores decisions under `root` and gives the name of their file; '' for none. Raises `OSError`."""
    ordered = sorted({d.key: d for d in decisions}.values(), key=lambda d: d.key)
    if not ordered:
        return ""
    data = json.dumps([d.model_dump() for d in ordered], indent=0).encode("ascii")
    path = root / FOLDER / f"{hashlib.sha256(data).hexdigest()}.json"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, data)
    return path.name


def read(root: Path, name: str) -> Decisions:
    """Decisions by their `key`; none for ''. Raises `CorruptStoreError` for a file that is not what was written."""
    if not name:
        return {}
    path = root / FOLDER / name
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != path.stem:
            raise ValueError
        found = _FILE.validate_python(json.loads(data))
    except OSError as error:
        raise CorruptStoreError(f"{path} cannot be read ({error.strerror}): run `xkg index rebuild`") from error
    except (ValueError, ValidationError) as error:
        raise CorruptStoreError(f"{path} is not what was written: run `xkg index rebuild`") from error
    return {decision.key: decision for decision in found}


def readable(root: Path, name: str | None) -> tuple[str, list[str]]:
    """The file of that name, or, where it is damaged or no name is known, the newest that can be read; '' for none. A
    line for each file that had to be set aside, as `*.damaged`."""
    notes = []
    files = (root / FOLDER).glob("[!.]*.json") if name != "" and (root / FOLDER).is_dir() else ()
    newest_first = sorted(files, key=lambda p: (p.name == name, p.stat().st_mtime_ns, p.name), reverse=True)
    for path in newest_first:
        try:
            read(root, path.name)
        except CorruptStoreError:
            path.rename(path.with_suffix(".damaged"))
            notes.append(f"{path} is not what was written, and set aside: `xkg link` decides again what it held")
        else:
            return path.name, notes
    if name and not notes:
        notes.append(f"{root / FOLDER / name} is missing: `xkg link` decides again what it held")
    return "", notes


def _hash(*parts: str) -> str:
    text = json.dumps(parts)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
