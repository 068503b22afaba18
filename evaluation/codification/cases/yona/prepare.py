"""Prepares the case YONA from a clone of github.com/HansMoe/YONA (the repository of "You Only Need Half", arXiv
2405.02830): every trace of the method is taken out of its training on CIFAR-10, generated images stand in for the data
set, and the network is a sixteenth as wide, so that a run on a processor takes a minute.

    python prepare.py CLONE FOLDER

What it writes to FOLDER is the starter: `main.py`, `data.py`, `models/resnet.py`. CLONE may be a bare repository."""

import re
import subprocess
import sys
from pathlib import Path

PLACE = "YONA/image_classification/cifar10"
HERE = Path(__file__).parent

# Functions and classes that go, up to the next definition.
REMOVED = ("def Mask_Half(", "class Grid(", "class Cutout(", "def mixup(")

# What is replaced, each exactly once.
REPLACED = (
    ("import torchvision.transforms as transforms\nimport torchvision.datasets as datasets\n", ""),
    ("import torchvision.models as models\nimport numpy as np\n", ""),
    ("from models.xception import xception\nfrom models.preactresnet import preactresnet18\n", ""),
    ("from models.densenet import densenet121\nfrom models.resnext import resnext50\n", ""),
    (
        "from models.wideresidual import wideresnet\nfrom PIL import Image\n",
        "from data import HorizontalFlip, Images, VerticalFlip, normalize\n",
    ),
    ("parser.add_argument('--yona', dest='yona', action='store_true',\n                    help='apply yona')\n", ""),
    ("        # apply YONA\n        if args.yona:\n            images = Mask_Half(images, 32, 32)\n", ""),
    ('        print("no data augmentation combined with YONA")\n', '        print("no such data augmentation")\n'),
    ("which data augmentation method to combine", "which data augmentation method"),
    (
        "        images = normalize((images/255)).to(dtype=torch.float32)\n",
        "        images = normalize(images/255).to(dtype=torch.float32)\n",
    ),
    ("    criterion = nn.CrossEntropyLoss().cuda(args.gpu)\n", "    criterion = nn.CrossEntropyLoss()\n"),
)
CHOICE = (
    '    if args.aug_method == "HFlip":\n        transform = HorizontalFlip()\n'
    '    elif args.aug_method == "VFlip":\n        transform = VerticalFlip()\n    else:\n'
)
LOADERS = (
    "    train_loader = torch.utils.data.DataLoader(Images(train=True), batch_size=args.batch_size, shuffle=True)\n"
    "    val_loader = torch.utils.data.DataLoader(Images(train=False), batch_size=args.batch_size, shuffle=False)\n\n"
)


def main() -> None:
    clone, folder = sys.argv[1], Path(sys.argv[2])
    text = shown(clone, "main.py")
    for start in REMOVED:
        text = without(text, start)
    text = between(text, "model_names = sorted(", "parser = argparse", "")
    text = between(text, "    # create model\n", "    # define loss function", "    model = resnet18()\n\n")
    text = between(text, "    if args.dataset.startswith('cifar'):", "    if args.resume:", LOADERS)
    text = between(text, '    if args.aug_method == "HFlip":', '        print("no data augmentation', CHOICE)
    text = between(
        text, "    normalize = transforms.Normalize(", "    progress = ProgressMeter(\n        len(train_loader)", ""
    )
    for old, new in REPLACED:
        if text.count(old) != 1:
            first = old.strip().splitlines()[0]
            sys.exit(f"main.py of this clone is another one: {first!a} occurs {text.count(old)} times")
        text = text.replace(old, new)
    network = re.sub(r"\b(64|128|256|512)\b", lambda width: str(int(width[1]) // 16), shown(clone, "models/resnet.py"))
    for word in ("yona", "half", "mask", "bisect"):
        if re.search(word, text + network, re.I):
            sys.exit(f"a trace of the method is left: {word}")
    (folder / "models").mkdir(parents=True, exist_ok=True)
    (folder / "main.py").write_text(text)
    (folder / "models" / "resnet.py").write_text(network)
    (folder / "data.py").write_text((HERE / "data.py").read_text())


def shown(clone: str, name: str) -> str:
    command = ["git", "-C", clone, "show", f"HEAD:{PLACE}/{name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.replace("\r\n", "\n")


def without(text: str, start: str) -> str:
    """The text without the definition that begins so."""
    at = text.index(start)
    following = re.compile(r"^(?:def |class )", re.M).search(text, at + len(start))
    return text[:at] + text[following.start() if following else len(text) :]


def between(text: str, start: str, end: str, new: str) -> str:
    """The text with `new` in the place of all from `start` until before `end`."""
    at = text.index(start)
    return text[:at] + new + text[text.index(end, at) :]


if __name__ == "__main__":
    main()
