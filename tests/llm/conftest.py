import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llm.desk import Desk
from tests.llm_endpoint import Answer, ScriptedEndpoint, silent


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "kg")
    with made.endpoint:
        yield made


@pytest.fixture
def arrived(desk: Desk) -> Iterator[threading.Event]:
    """Makes the endpoint silent, and returns an event that is set by the first question."""
    come, own = threading.Event(), desk.endpoint

    def hang(_: dict[str, Any]) -> Answer:
        come.set()
        return silent

    desk.endpoint = ScriptedEndpoint(hang)
    with desk.endpoint:
        yield come
    desk.endpoint = own
