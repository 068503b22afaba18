"""Fully checks a stored graph, for `xkg index check`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from xkg.errors import CorruptStoreError, StoreError
from xkg.store import ablations, bundles
from xkg.store.bundles import BundleFile
from xkg.store.concepts import decisions
from xkg.store.local import generation
from xkg.store.local.generation import REBUILD
from xkg.store.local.generations import require_model


def problems(root: Path, model: str | None = None) -> list[str]:
    """Checks the bundles, the file hashes and the embedding `model`. Returns one line for each problem."""
    try:
        opened = generation.open_current(root)
    except StoreError as error:
        return [str(error)]
    if opened is None:
        return []
    with opened:
        manifest = opened.manifest
        checks: list[Callable[[], object]] = [
            *(partial(_read_bundle, root, paper, file) for paper, file in manifest.bundles.items()),
            partial(decisions.read, root, manifest.decisions),
            partial(ablations.read, root, manifest.ablations),
            *(partial(opened.verify, name) for name in manifest.files),
            partial(require_model, manifest.model, model),
        ]
        found = []
        for check in checks:
            try:
                check()
            except StoreError as error:
                found.append(str(error))
        return found


def _read_bundle(root: Path, paper: str, file: BundleFile) -> None:
    bundle = bundles.read(root / "bundles" / file.name, paper)
    if bundle.paper.id != paper:
        raise CorruptStoreError(f"bundle file {file.name} contains paper {bundle.paper.id!r}, not {paper!r}; {REBUILD}")
