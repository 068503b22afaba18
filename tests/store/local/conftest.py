import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.local.replicas import MEMORY


@pytest.fixture
def folder() -> Iterator[Path]:
    """Creates a folder in memory if the system supports it, to avoid waiting for the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)
