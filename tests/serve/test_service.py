import os
from pathlib import Path

import pytest

from xkg.config import EmbeddingSettings, Settings
from xkg.errors import InputError, StoreError
from xkg.sandbox.watchdog import descendants
from xkg.serve.service import Service


def test_what_is_closed_opens_nothing_any_more(graph: Path) -> None:
    before = set(descendants(os.getpid()))
    service = Service(Settings(kg=graph, embedding=EmbeddingSettings()))
    service.warm()
    assert set(descendants(os.getpid())) > before  # the process that runs queries
    service.close()
    service.warm()
    with pytest.raises(StoreError, match="was closed"):
        service.search("kneading", 1)
    assert set(descendants(os.getpid())) == before


def test_an_empty_query_is_refused(graph: Path) -> None:
    service = Service(Settings(kg=graph, embedding=EmbeddingSettings()))
    with pytest.raises(InputError, match="the query is empty"):
        service.search(" \n", 1)
    service.close()
