"""Serves a package index on loopback, with wheels created by the tests."""

import base64
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.loopback import QuietHandler, Served


def wheel(name: str, version: str, files: Mapping[str, str | bytes], requires: tuple[str, ...] = ()) -> bytes:
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    metadata += [f"Requires-Dist: {line}\n" for line in requires]
    held: dict[str, bytes] = {k: v.encode() if isinstance(v, str) else v for k, v in files.items()}
    held[f"{info}/METADATA"] = "".join(metadata).encode()
    held[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = []
    for path, content in held.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    held[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in held.items():
            archive.writestr(path, content)
    return buffer.getvalue()


class Index:
    """Serves `files`, keyed by name. `days` maps a name to its date of publication, and `asked` contains the requested
    paths. If `status` is not 200, every answer consists only of this status."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.days: dict[str, str] = {}
        self.asked: list[str] = []
        self.parts = True
        self.status = 200
        self.url = ""

    def add(
        self,
        name: str,
        version: str,
        files: Mapping[str, str | bytes],
        requires: tuple[str, ...] = (),
        day: str | None = None,
        tag: str = "py3-none-any",
    ) -> None:
        file_name = f"{name.replace('-', '_')}-{version}-{tag}.whl"
        if day:
            self.days[file_name] = f"{day}T12:00:00Z"
        self.files[file_name] = wheel(name, version, files, requires)

    def add_source(self, name: str, version: str, files: Mapping[str, str], day: str | None = None) -> None:
        """Adds a source distribution. The paths in `files` are relative to its folder."""
        folder = f"{name.replace('-', '_')}-{version}"
        if day:
            self.days[f"{folder}.tar.gz"] = f"{day}T12:00:00Z"
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for path, content in files.items():
                member = tarfile.TarInfo(f"{folder}/{path}")
                member.size = len(content.encode())
                archive.addfile(member, io.BytesIO(content.encode()))
        self.files[f"{folder}.tar.gz"] = buffer.getvalue()


@contextmanager
def serving(index: Index) -> Iterator[Index]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            index.asked.append(self.path)
            status, content, extra = self._found() if index.status == 200 else (index.status, b"", {})
            self.send_response(status)
            for name, value in extra.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            if self.close_connection:  # otherwise, uv asks again over this connection
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def _found(self) -> tuple[int, bytes, dict[str, str]]:
            kind, _, name = self.path.strip("/").partition("/")
            if kind == "files" and name in index.files:
                content = index.files[name]
                part = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
                if not part or not index.parts:
                    return 200, content, {}
                if part[1]:
                    start, end = int(part[1]), min(int(part[2] or len(content) - 1), len(content) - 1)
                else:
                    start, end = max(0, len(content) - int(part[2])), len(content) - 1
                held = f"bytes {start}-{end}/{len(content)}"
                return 206, content[start : end + 1], {"Content-Range": held, "Accept-Ranges": "bytes"}
            if kind == "simple":
                found = {
                    file: hashlib.sha256(content).hexdigest()
                    for file, content in index.files.items()
                    if file.partition("-")[0].replace("_", "-").lower() == name
                }
                if found and index.days:
                    files = [
                        {"filename": file, "url": f"/files/{file}", "hashes": {"sha256": digest}}
                        | ({"upload-time": index.days[file]} if file in index.days else {})
                        for file, digest in found.items()
                    ]
                    held = json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": files})
                    return 200, held.encode(), {"Content-Type": "application/vnd.pypi.simple.v1+json"}
                if found:
                    links = [f'<a href="/files/{file}#sha256={digest}">{file}</a>' for file, digest in found.items()]
                    return 200, "\n".join(links).encode(), {"Content-Type": "text/html"}
            return 404, b"", {}

    with Served(Handler) as server:
        index.url = f"{server.url}/simple"
        yield index
