"""Provides a library in each kind of storage: a folder, a bare git repository, an object store, and a storage opened by
fsspec."""

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

OTHERS = pytest.mark.product("servers and what is merged take seconds", every=True)
KINDS = ("folder", "git", pytest.param("s3", marks=OTHERS), pytest.param("other", marks=OTHERS))


@pytest.fixture(scope="session")
def object_store() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=KINDS)
def writable(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns the address of an empty library."""
    kind = request.param
    if kind == "s3":
        address = request.getfixturevalue("object_store")
        for name, value in (
            ("AWS_ENDPOINT_URL", address),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        import s3fs

        bucket = "bucket-" + "".join(filter(str.isalnum, tmp_path.name.lower()))[-40:]
        files = s3fs.S3FileSystem(skip_instance_cache=True)
        files.mkdir(bucket)
        return f"s3://{bucket}/library"
    if kind == "git":
        repository = tmp_path / "library.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(repository)], check=True)
        return str(repository)
    folder = tmp_path / "library"
    return str(folder) if kind == "folder" else f"local://{folder}"
