"""Checks that pages stay short even if any text of a paper is long."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.serve.conftest import published
from tests.serve.http_server import Running, running
from tests.serve.long_texts import PAPER, TECHNIQUE, long_texts
from xkg.embeddings.onnx import OnnxEmbedder

CHARACTERS = 500_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    graph = published(tmp_path_factory.mktemp("long"), OnnxEmbedder(threads=1), long_texts(CHARACTERS))
    with running(graph) as opened:
        yield opened


@pytest.mark.parametrize(
    "address",
    [
        "/?q=word",
        "/papers",
        "/search?q=word",
        f"/paper/{PAPER}",
        f"/technique/{quote(TECHNIQUE)}",
        f"/cypher?statement={quote('MATCH (r:Repository) RETURN r.url, r.license')}",
    ],
)
def test_a_page_is_shorter_than_one_long_text(pages: Running, address: str) -> None:
    answer = pages.client().get(address)
    assert answer.status_code == 200
    assert len(answer.content) < CHARACTERS
