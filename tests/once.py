"""What is expensive to make is made once a run, and used by all workers of pytest-xdist."""

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
    """What `make` returns for a new folder: the first worker that asks calls it, the others wait for it and read its
    pickled result."""
    own = factory.getbasetemp()
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, result = run / name, run / f"{name}.pickle"
    with file_lock(run / f"{name}.lock"):
        if not result.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that did not come to the end
            folder.mkdir()
            result.write_bytes(pickle.dumps(make(folder)))
        made: T = pickle.loads(result.read_bytes())
        return made
