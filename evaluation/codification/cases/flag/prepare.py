"""Prepares the case FLAG from a clone of github.com/devnkong/FLAG: the method is taken out of its training on
ogbn-arxiv, and a generated graph of the same layout stands in for the data set.

    python prepare.py CLONE FOLDER

What it writes to FOLDER is the starter: plain training, `gnn.py` and `graph.py`. CLONE may be a bare repository."""

import subprocess
import sys
from pathlib import Path

SOURCE = "ogb/nodeproppred/arxiv/gnn.py"
HERE = Path(__file__).parent

# What is replaced, each exactly once; what the method adds is replaced by nothing.
REPLACED = (
    ("import torch_geometric.transforms as T\nfrom torch_geometric.nn import GCNConv, SAGEConv\n\n", ""),
    (
        "from ogb.nodeproppred import PygNodePropPredDataset, Evaluator\n",
        "from graph import Dataset, Evaluator, GCNConv, SAGEConv\n",
    ),
    ("import sys\nsys.path.insert(0,'../..')\nfrom attacks import *\n\nimport pdb\n", ""),
    (
        "dataset = PygNodePropPredDataset(name='ogbn-arxiv',\n"
        "                                     transform=T.ToSparseTensor())",
        "dataset = Dataset(name='ogbn-arxiv')",
    ),
    ("    data.adj_t = data.adj_t.to_symmetric()\n", ""),
    (
        "            if args.attack == 'vanilla' :\n"
        "                loss = train(model, data, train_idx, optimizer)\n"
        "            else :\n"
        "                loss = train_flag(model, data, train_idx, optimizer, device, args)\n",
        "            loss = train(model, data, train_idx, optimizer)\n",
    ),
    ("    parser.add_argument('--step-size', type=float, default=1e-3)\n", ""),
    ("    parser.add_argument('-m', type=int, default=3)\n", ""),
    ("    parser.add_argument('--attack', type=str, default='flag')\n", ""),
    (
        "    for run in range(args.runs):\n",
        "    for run in range(args.runs):\n        torch.manual_seed(args.start_seed + run)\n",
    ),
)


def main() -> None:
    clone, folder = sys.argv[1], Path(sys.argv[2])
    text = subprocess.run(
        ["git", "-C", clone, "show", f"HEAD:{SOURCE}"], check=True, capture_output=True, text=True
    ).stdout
    start, end = text.index("def train_flag("), text.index("@torch.no_grad()\ndef test(")
    text = text[:start] + "\n" + text[end:]
    for old, new in REPLACED:
        if text.count(old) != 1:
            sys.exit(
                f"{SOURCE} of this clone is another one: {old.strip().splitlines()[0]!a} occurs {text.count(old)} times"
            )
        text = text.replace(old, new)
    for word in ("flag", "perturb", "attack", "step_size", "adversar"):
        if word in text.lower():
            sys.exit(f"a trace of the method is left: {word}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gnn.py").write_text(text)
    (folder / "graph.py").write_text((HERE / "graph.py").read_text())


if __name__ == "__main__":
    main()
