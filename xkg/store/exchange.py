"""Imports and exports papers as graph files in the peer system's format, or as lossless bundle files."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from xkg.attestations.bundles import attach, detach, proven_as, received
from xkg.errors import CorruptStoreError, InputError
from xkg.files import read_regular, write_export
from xkg.model import Code, Level, PaperBundle, slug
from xkg.store import bundles as bundle_files
from xkg.store.ablations import EXPORTED
from xkg.store.peer_format import MOST_TECHNIQUES, Check, peer_bytes, read_peer

_BUNDLE = b'{"format":"xkg-bundle-'
_LARGEST_BUNDLE = 256 * 1024 * 1024


def graph_files(place: Path) -> list[Path]:
    """Returns all `*.json` files in a folder except the list of ablations, ordered by name, or the file itself if
    `place` is a file. Raises `InputError` if there are no graph files."""
    if not place.is_dir():
        if not (place.exists() or place.is_symlink()):
            raise InputError(f"{place}: no such file or folder; pass graph files (*.json) or folders that contain them")
        return [place]
    paths = sorted(path for path in place.glob("[!.]*.json") if path.name != EXPORTED)
    if not paths:
        raise InputError(f"{place}: contains no graph file (*.json); pass a folder that does")
    return paths


def import_files(
    paths: Sequence[Path],
    check: Check,
    notify: Callable[[int, int, str], None] = lambda *_: None,
    *,
    claims: bool = False,
) -> tuple[list[PaperBundle], list[str]]:
    """Reads the papers in graph files. Also returns one line for each file that is unreadable or contains the same
    paper as an earlier file.

    `check` determines the level of code in the peer's files. Bundles are imported unchanged, except that their levels
    become claims if `claims` is set. Before each file, `notify` is called with the number of files read so far, the
    total, and the file's name."""
    found: list[PaperBundle] = []
    problems: list[str] = []
    first: dict[str, Path] = {}
    for number, path in enumerate(paths):
        notify(number, len(paths), path.name)
        try:
            bundle = read_file(path, check, claims=claims)
        except InputError as error:
            problems.append(str(error))
            continue
        if bundle.paper.id in first:
            earlier = first[bundle.paper.id]
            named = earlier.name if earlier.parent == path.parent else earlier
            problems.append(f"{path}: has the same paper as {named} ({bundle.paper.id}); leave one of them out")
            continue
        first[bundle.paper.id] = path
        found.append(bundle)
    return found, problems


def read_file(path: Path, check: Check, *, claims: bool = False) -> PaperBundle:
    """Reads the paper in a bundle file or a peer's graph file. If `claims` is set, the bundle's levels become claims.
    Raises `InputError` with the file and the problem."""
    try:
        data = read_regular(path, _LARGEST_BUNDLE)
        if not data.startswith(_BUNDLE):
            return read_peer(path, check)
        bundle = bundle_files.parse(data, path)
        bundle_files.validate(bundle)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct the file or leave it out") from error
    except CorruptStoreError as error:
        raise InputError(f"{path}: is not a complete bundle file of this version of xkg; export it again") from error
    if len(bundle.techniques) > MOST_TECHNIQUES:
        raise InputError(f"{path}: exceeds the limit of {MOST_TECHNIQUES:,} techniques; leave it out")
    return received(bundle) if claims else bundle


def with_stored_evidence(bundle: PaperBundle, stored: PaperBundle) -> PaperBundle:
    """Returns the bundle with the evidence and attestations in `stored` for the same code. Stored evidence from a run
    replaces claims and evidence from checks. Stored evidence from a check is used if only its time differs."""
    known = {code.id: code for code in stored.code}
    code = tuple(_proven(node, known.get(node.id)) for node in bundle.code)
    return attach(bundle.model_copy(update={"code": code}), detach(stored)[1])


def _proven(code: Code, stored: Code | None) -> Code:
    # Compare the code itself, because the ids in a file can be arbitrary.
    if stored is None or (code.implementation, code.test) != (stored.implementation, stored.test):
        return code
    if code.level is Level.CLAIMED:
        return proven_as(code, stored)
    if not code.evidence or not stored.evidence or any(evidence.runner for evidence in code.evidence):
        return code
    at = stored.evidence[-1].checked_at
    again = tuple(evidence.model_copy(update={"checked_at": at}) for evidence in code.evidence)
    ran = any(evidence.runner for evidence in stored.evidence)
    if not ran and again != stored.evidence:
        return code
    return code.model_copy(update={"level": stored.level, "evidence": stored.evidence})


def export_folder(papers: Iterable[PaperBundle], folder: Path, form: Literal["peer", "bundle"]) -> list[Path]:
    """Atomically writes one file per paper to `folder`, which is created if necessary, and returns the paths. A file
    name consists of a readable part of the title and a hash of the paper's id. Exporting a paper again therefore
    replaces its file.

    Raises `InputError` if the folder cannot be written."""
    paths = []
    for bundle in papers:
        data = peer_bytes(bundle) if form == "peer" else bundle_files.serialise(bundle)
        paths.append(write_export(folder / _name(bundle, form), data))
    return paths


def _name(bundle: PaperBundle, form: str) -> str:
    readable = slug(bundle.paper.title).encode()[:120].decode(errors="ignore")
    identity = hashlib.sha256(bundle.paper.id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{readable}-{identity}{'.bundle' if form == 'bundle' else ''}.json"
