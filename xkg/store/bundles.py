"""Reads and writes bundle files, which are an embedded graph's source of truth. Each state of a paper has a separate,
immutable file.

A file is a JSON object, `{"format", "sha256", "bundle"}`. The hash covers the bundle's bytes in the file. All text is
ASCII, so that control characters and lone surrogates are preserved. The file name consists of a readable prefix of the
paper's id, a hash of the id, and a hash of the content. A file with a given name therefore never changes."""

import hashlib
import json
import os
import re
from pathlib import Path

from pydantic import ValidationError

from xkg.errors import CorruptStoreError, InputError
from xkg.files import write_whole
from xkg.model import PaperBundle, paper_of
from xkg.value import Value

_HEAD = b'{"format":"xkg-bundle-1","sha256":"'
_MIDDLE = b'","bundle":'
_HASH_END = len(_HEAD) + 64


class BundleFile(Value):
    """A bundle file's entry in a manifest. `sha256` is the bundle's hash."""

    name: str
    size: int
    sha256: str


def write(folder: Path, bundle: PaperBundle, *, durable: bool = True) -> BundleFile:
    """Stores a bundle in `folder`, which must exist. Unless `durable` is set, a power failure may damage the file.
    Copies need not be durable, because the hash reveals any damage. Raises `OSError` if the file cannot be written."""
    data = serialise(bundle)
    sha256 = stated_sha256(data)
    path = folder / _name(bundle.paper.id, sha256)
    try:
        there = path.read_bytes() == data
    except OSError:
        there = False
    if not there and durable:
        write_whole(path, data)
    elif not there:
        partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        partial.write_bytes(data)
        partial.replace(path)
    return BundleFile(name=path.name, size=len(data), sha256=sha256)


def read(path: Path, paper: str | None = None) -> PaperBundle:
    """Reads a bundle file. Raises `CorruptStoreError`, whose message names the file and, if given, the paper."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorruptStoreError(_damaged(path, f"cannot be read ({error.strerror})", paper)) from error
    return parse(data, path, paper)


def parse(data: bytes, path: Path, paper: str | None = None) -> PaperBundle:
    """Parses a bundle file's bytes. `path` and `paper` are only used in the message of a `CorruptStoreError`."""
    payload = data[_HASH_END + len(_MIDDLE) : -2]
    if not (data.startswith(_HEAD) and data[_HASH_END:].startswith(_MIDDLE) and data.endswith(b"}\n")):
        raise CorruptStoreError(_damaged(path, "is truncated or is not a bundle file", paper))
    if hashlib.sha256(payload).hexdigest().encode("ascii") != data[len(_HEAD) : _HASH_END]:
        raise CorruptStoreError(_damaged(path, "has changed since it was written", paper))
    try:
        return PaperBundle.model_validate(json.loads(payload))
    except (ValueError, ValidationError, RecursionError) as error:
        raise CorruptStoreError(_damaged(path, "was written by another version of xkg", paper)) from error


def serialise(bundle: PaperBundle) -> bytes:
    """Serialises a bundle to the bytes of a bundle file. Equal bundles have equal bytes."""
    payload = _payload(bundle)
    return _HEAD + hashlib.sha256(payload).hexdigest().encode("ascii") + _MIDDLE + payload + b"}\n"


def stated_sha256(data: bytes) -> str:
    """Returns the hash recorded in a bundle file, without checking it."""
    return data[len(_HEAD) : _HASH_END].decode("ascii")


def sha256(bundle: PaperBundle) -> str:
    """Returns a bundle's hash, as stored in its file. Equal bundles have equal hashes."""
    return hashlib.sha256(_payload(bundle)).hexdigest()


def _payload(bundle: PaperBundle) -> bytes:
    fields = bundle.model_dump()
    for node in fields["code"]:
        del node["attested"]
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def newest(folder: Path) -> tuple[list[PaperBundle], list[str]]:
    """Returns each paper's newest readable bundle in `folder`, and one line for each unreadable file. Unreadable files
    are renamed to `*.damaged` so that they are not deleted automatically."""
    found: dict[str, PaperBundle] = {}
    problems = []
    for path in sorted(folder.glob("[!.]*.json"), key=lambda p: (p.stat().st_mtime_ns, p.name)):
        try:
            bundle = read(path)
        except CorruptStoreError as error:
            problems.append(str(error))
            path.rename(path.with_suffix(".damaged"))
        else:
            found[bundle.paper.id] = bundle
    return [found[paper] for paper in sorted(found)], problems


def _name(paper: str, sha256: str) -> str:
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", paper)[:48].strip("-.") or "paper"
    identity = hashlib.sha256(paper.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{identity[:12]}-{sha256[:16]}.json"


def _damaged(path: Path, problem: str, paper: str | None) -> str:
    owner = ascii(paper) if paper else "its paper"
    return f"bundle file {path} {problem}; build or import {owner} again, or remove it with `xkg remove`"


def validate(bundle: PaperBundle) -> None:
    """Raises `InputError` for the first value in a bundle that cannot be stored in a graph."""
    paper = bundle.paper.id

    def refuse(what: str) -> InputError:
        return InputError(f"the bundle of paper {paper!r} cannot be stored: {what}")

    def unique(kind: str, ids: list[str]) -> set[str]:
        known = set(ids)
        if len(known) != len(ids):
            twice = next(i for n, i in enumerate(ids) if i in ids[:n])
            raise refuse(f"{kind} {twice!r} appears twice")
        return known

    if not paper or "#" in paper:
        raise refuse("a paper's id must not be empty or contain '#'")
    above: set[str] = set()
    hidden: set[str] = set()
    for technique in bundle.techniques:
        if technique.parent is not None and technique.parent not in above:
            raise refuse(
                f"technique {technique.id!r} comes before its parent {technique.parent!r}, which may be missing"
            )
        if technique.parent in hidden and technique.hidden is None:
            raise refuse(f"technique {technique.id!r} is visible, but its parent is hidden")
        above.add(technique.id)
        if technique.hidden is not None:
            hidden.add(technique.id)
    techniques = unique("technique", [t.id for t in bundle.techniques])
    code = unique("code", [c.id for c in bundle.code])
    unique("the code of technique", [c.technique for c in bundle.code])
    if any(c.attested for c in bundle.code):
        raise refuse("`attested` must be empty, because it depends on which keys the reader trusts")
    repositories = unique("repository", [r.id for r in bundle.repositories])
    symbols = unique("symbol", [s.id for s in bundle.symbols])
    findings = unique("finding", [f.id for f in bundle.findings])
    resources = unique("resource", [r.id for r in bundle.resources])
    for node in (*techniques, *code, *findings, *resources):
        if paper_of(node) != paper:
            raise refuse(f"id {node!r} does not begin with the paper's id")
    ends = [
        ("technique", techniques, [c.technique for c in bundle.code] + [x.technique for x in bundle.locations]),
        ("symbol", symbols, [x.symbol for x in bundle.locations] + [d.symbol for d in bundle.derivations]),
        ("code", code, [d.code for d in bundle.derivations]),
        ("repository", repositories, [s.repository for s in bundle.symbols]),
    ]
    for kind, known, used in ends:
        for node in used:
            if node not in known:
                raise refuse(f"{kind} {node!r} is referenced but not in the bundle")
