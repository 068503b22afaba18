"""Creates a small graph with one imported paper, as files and as a stored graph."""

import json
from pathlib import Path
from typing import Any

from xkg.commands.graph.contents import import_graphs
from xkg.config import load

ENTROPY = {"implementation": "def entropy(p):\n    return 0\n", "test": "entropy(1)"}
TECHNIQUE = {"name": "entropy loss", "description": "Shannon entropy of predictions", "code": ENTROPY}
TENT = {"paper_title": "Tent", "paper_abstract": "This is a study of shifts.", "techniques": [TECHNIQUE]}


def files(folder: Path, *papers: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for number, paper in enumerate(papers or (TENT,)):
        (folder / f"{number}.json").write_text(json.dumps(paper))
    return folder


def stored(folder: Path, *papers: dict[str, Any]) -> Path:
    import_graphs(load(kg=folder / "kg"), files(folder / "files", *papers))
    return folder / "kg"
