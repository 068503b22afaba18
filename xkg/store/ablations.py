"""Stores ablation results in files next to the bundles, so that they are not lost when a paper is rebuilt.

Exports contain the same values, as a list in `ablations.json`."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from xkg.errors import InputError
from xkg.files import read_regular, write_export
from xkg.model import Ablation
from xkg.store.hashed_files import HashedFiles

EXPORTED = "ablations.json"
_LARGEST_EXPORT = 256 * 1024 * 1024
_FILES = HashedFiles(
    "ablations",
    Ablation,
    lambda ablation: ablation.id,
    "`xkg ablate report` stores a run's measurements again",
)
FOLDER = _FILES.folder
write, read, readable = _FILES.write, _FILES.read, _FILES.readable


def export(folder: Path, ablations: Iterable[Ablation]) -> Path | None:
    """Writes the measurements into an export folder. Returns the file, or None if there are no measurements. Raises
    `InputError` if the file cannot be written."""
    data = _FILES.data(ablations)
    return None if data is None else write_export(folder / EXPORTED, data)


def exported(folder: Path) -> tuple[Ablation, ...]:
    """Returns the measurements in an export folder, if any. Raises `InputError` if the file is invalid."""
    path = folder / EXPORTED
    if not path.exists():
        return ()
    try:
        return _FILES.values.validate_python(json.loads(read_regular(path, _LARGEST_EXPORT)))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct the file or leave it out") from error
    except (ValueError, ValidationError, RecursionError) as error:
        raise InputError(f"{path}: is not a list of ablations from `xkg export`; export it again") from error
