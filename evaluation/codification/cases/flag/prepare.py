"""Prepares the case FLAG from a clone of github.com/devnkong/FLAG: removes the method from its training on ogbn-arxiv,
and replaces the data set with a generated graph of the same layout.

    python prepare.py CLONE FOLDER

FOLDER gets the starter: plain training, `gnn.py` and `graph.py`. CLONE may be bare, and must have the commit."""

import hashlib
import subprocess
import sys
from pathlib import Path

COMMIT = "b507e6286797b8a726d594c38fd69c54cd1b19ef"
SOURCE = "ogb/nodeproppred/arxiv/gnn.py"
DIGEST = "fe6d27024aa7ae930bf3b808ed2c11a70095f0d96c99957da003610d0abfbee0"
HERE = Path(__file__).parent

# First and last line (1-based, inclusive; last before first: an insertion), and the replacement.
EDITS = (
    (6, 9, "from graph import Dataset, Evaluator, GCNConv, SAGEConv\n"),
    (12, 16, ""),
    (95, 104, ""),
    (142, 143, ""),
    (145, 145, ""),
    (152, 153, "    dataset = Dataset(name='ogbn-arxiv')\n"),
    (156, 156, ""),
    (176, 175, "        torch.manual_seed(args.start_seed + run)\n"),
    (182, 182, ""),
    (184, 185, ""),
)
DEDENTED = 183


def main() -> None:
    clone, folder = sys.argv[1], Path(sys.argv[2])
    shown = ["git", "-C", clone, "show", f"{COMMIT}:{SOURCE}"]
    source = subprocess.run(shown, check=True, capture_output=True).stdout
    if hashlib.sha256(source).hexdigest() != DIGEST:
        sys.exit(f"{SOURCE} of this clone is another one")
    lines = source.decode().splitlines(keepends=True)
    lines[DEDENTED - 1] = lines[DEDENTED - 1].removeprefix("    ")
    for first, last, new in reversed(EDITS):
        lines[first - 1 : last] = [new]
    text = "".join(lines)
    for word in ("flag", "perturb", "attack", "step_size", "adversar"):
        if word in text.lower():
            sys.exit(f"a trace of the method is left: {word}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gnn.py").write_text(text)
    (folder / "graph.py").write_text((HERE / "graph.py").read_text())


if __name__ == "__main__":
    main()
