"""Measured importance of techniques: immutable files beside the bundles, of which a manifest names one, so that a
rebuild of a paper does not lose it. The name of a file is the hash of its bytes.

With an export goes one file `ablations.json`, a list of the same."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from xkg.errors import CorruptStoreError, InputError
from xkg.files import read_regular, write_whole
from xkg.model import Ablation

FOLDER = "ablations"
EXPORTED = "ablations.json"
_LARGEST_EXPORT = 256 * 1024 * 1024
_FILE = TypeAdapter(tuple[Ablation, ...])


def write(root: Path, ablations: Iterable[Ablation]) -> str:
    """Stores ablations under `root`, of one id the last, and gives the name of their file; '' for none. Raises
    `OSError`."""
    data = _bytes(ablations)
    if data is None:
        return ""
    path = root / FOLDER / f"{hashlib.sha256(data).hexdigest()}.json"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, data)
    return path.name


def read(root: Path, name: str) -> Mapping[str, Ablation]:
    """Ablations by id, in id order; none for ''. Raises `CorruptStoreError` for a file that is not what was written."""
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
    return {ablation.id: ablation for ablation in found}


def readable(root: Path, name: str | None) -> tuple[str, list[str]]:
    """The file of that name, or, where it is damaged or no name is known, the newest that can be read; '' for none. A
    line for each file that had to be set aside, as `*.damaged`."""
    notes = []
    files = (root / FOLDER).glob("[!.]*.json") if name != "" and (root / FOLDER).is_dir() else ()
    for path in sorted(files, key=lambda p: (p.name == name, p.stat().st_mtime_ns, p.name), reverse=True):
        try:
            read(root, path.name)
        except CorruptStoreError:
            path.rename(path.with_suffix(".damaged"))
            notes.append(f"{path} is not what was written, and set aside: `xkg ablate report` of a run stores it again")
        else:
            return path.name, notes
    if name and not notes:
        notes.append(f"{root / FOLDER / name} is missing: `xkg ablate report` of a run stores its measurements again")
    return "", notes


def export(folder: Path, ablations: Iterable[Ablation]) -> Path | None:
    """Writes them into the folder of an export, None where there are none. Raises `InputError`."""
    data = _bytes(ablations)
    path = folder / EXPORTED
    if data is None:
        return None
    try:
        write_whole(path, data)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
    return path


def exported(folder: Path) -> tuple[Ablation, ...]:
    """Those in the folder of an export, none where it has no such file. Raises `InputError`."""
    path = folder / EXPORTED
    if not path.exists():
        return ()
    try:
        return _FILE.validate_python(json.loads(read_regular(path, _LARGEST_EXPORT)))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct the file or leave it out") from error
    except (ValueError, ValidationError, RecursionError) as error:
        raise InputError(f"{path}: is no list of ablations as `xkg export` writes it; export it again") from error


def _bytes(ablations: Iterable[Ablation]) -> bytes | None:
    ordered = sorted({ablation.id: ablation for ablation in ablations}.values(), key=lambda a: a.id)
    return json.dumps([a.model_dump() for a in ordered], indent=0).encode("ascii") if ordered else None
