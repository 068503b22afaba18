"""Prepares the case YONA from a clone of github.com/HansMoe/YONA (the repository of "You Only Need Half", arXiv
2405.02830). Removes every trace of the method from its training on CIFAR-10, replaces the data set with generated
images, and makes the network a sixteenth as wide, so that a run on a CPU takes a minute.

    python prepare.py CLONE FOLDER

FOLDER gets the starter: `main.py`, `data.py`, `models/resnet.py`. CLONE may be bare, and must have the commit."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

COMMIT = "a24fe75f14dcf900396bcec6e759826ce68dc1d7"
PLACE = "YONA/image_classification/cifar10"
DIGEST = "c7c685b6d0b04a4819d254d20f6a30a79e1712c1527c26dac16aabd4a80d2a26"
HERE = Path(__file__).parent

LOADERS = (
    "    train_loader = torch.utils.data.DataLoader(Images(train=True), batch_size=args.batch_size, shuffle=True)\n"
    "    val_loader = torch.utils.data.DataLoader(Images(train=False), batch_size=args.batch_size, shuffle=False)\n"
)
# First and last line of `main.py` (1-based, inclusive), and the replacement.
EDITS = (
    (17, 20, ""),
    (22, 27, "from data import HorizontalFlip, Images, VerticalFlip, normalize\n"),
    (29, 31, ""),
    (38, 40, "                    help='use which data augmentation method')\n"),
    (139, 202, "    model = resnet18()\n"),
    (205, 205, "    criterion = nn.CrossEntropyLoss()\n"),
    (211, 238, LOADERS),
    (291, 293, "        transform = HorizontalFlip()\n"),
    (295, 317, "        transform = VerticalFlip()\n"),
    (319, 319, '        print("no such data augmentation")\n'),
    (327, 328, ""),
    (347, 349, ""),
    (373, 512, ""),
)


def main() -> None:
    clone, folder = sys.argv[1], Path(sys.argv[2])
    source = shown(clone, "main.py")
    if hashlib.sha256(source.encode()).hexdigest() != DIGEST:
        sys.exit("main.py of this clone is another one")
    lines = source.splitlines(keepends=True)
    for first, last, new in reversed(EDITS):
        lines[first - 1 : last] = [new]
    text = "".join(lines)
    network = re.sub(r"\b(64|128|256|512)\b", lambda width: str(int(width[1]) // 16), shown(clone, "models/resnet.py"))
    for word in ("yona", "half", "mask", "bisect"):
        if re.search(word, text + network, re.I):
            sys.exit(f"a trace of the method is left: {word}")
    (folder / "models").mkdir(parents=True, exist_ok=True)
    (folder / "main.py").write_text(text)
    (folder / "models" / "resnet.py").write_text(network)
    (folder / "data.py").write_text((HERE / "data.py").read_text())


def shown(clone: str, name: str) -> str:
    command = ["git", "-C", clone, "show", f"{COMMIT}:{PLACE}/{name}"]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode().replace("\r\n", "\n")


if __name__ == "__main__":
    main()
