"""Creates expensive inputs once per run, for all workers of pytest-xdist."""

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from xkg.files import file_lock

T = TypeVar("T")


def once_a_run(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], T]) -> T:
    """Returns the result of `make` for a new folder. The first worker calls `make`. All others wait for it and read its
    pickled result."""
    own = factory.getbasetemp()
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, result = run / name, run / f"{name}.pickle"
    with file_lock(run / f"{name}.lock"):
        if not result.exists():
            shutil.rmtree(folder, ignore_errors=True)  # a worker that was killed may have left the folder
            folder.mkdir()
            result.write_bytes(pickle.dumps(make(folder)))
        made: T = pickle.loads(result.read_bytes())
        return made
