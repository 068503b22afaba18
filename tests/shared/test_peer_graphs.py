"""Checks that all of the peer's published graphs survive a round trip, and that xkg does not trust their claims."""

import json
import os
from pathlib import Path

import pytest

from xkg.model import Evidence, Level
from xkg.store import bundles
from xkg.store.exchange import export_folder, graph_files, import_files

SHARED = Path(os.environ.get("XKG_SHARED") or Path(__file__).parents[3] / "shared")


@pytest.mark.shared
def test_the_peer_graphs_come_back_as_they_were(tmp_path: Path) -> None:
    folder = SHARED / "peer-graphs"
    found, problems = import_files(graph_files(folder), lambda _: Evidence(level=Level.PARSED))
    assert problems == []
    assert len(found) == 43
    assert sum(len(bundle.techniques) for bundle in found) == 309
    assert sum(len(bundle.code) for bundle in found) == 183
    back = []
    for bundle in found:
        bundles.validate(bundle)
        back.append(bundles.parse(bundles.serialise(bundle), folder))
    assert back == found
    originals = sorted(json.dumps(json.loads(path.read_bytes())) for path in folder.glob("*.json"))
    assert (
        sorted(json.dumps(json.loads(path.read_bytes())) for path in export_folder(back, tmp_path, "peer")) == originals
    )
