"""Prepares the case: the project's own example with the median heuristic removed from its code.

    python prepare.py EXAMPLE FOLDER

EXAMPLE is `examples/svgd/code`; FOLDER gets the starter."""

import shutil
import sys
from pathlib import Path

EDITS = {
    "svgd/kernels.py": (
        ("MIN_BANDWIDTH = 1e-6\n", "BANDWIDTH = 1.0\n"),
        (
            '''def median_bandwidth(squared_distances):
    """The median heuristic: squared median distance over log n."""
    n = squared_distances.shape[0]
    median = np.median(squared_distances)
    return max(median / np.log(n + 1.0), MIN_BANDWIDTH)


''',
            "",
        ),
        ("median_bandwidth(squared) if", "BANDWIDTH if"),
    ),
    "svgd/stein.py": (
        ("import median_bandwidth,", "import BANDWIDTH,"),
        ("median_bandwidth(squared) if", "BANDWIDTH if"),
    ),
}


def main() -> None:
    example, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.copytree(example, folder)
    for path, edits in EDITS.items():
        text = (folder / path).read_text()
        for old, new in edits:
            if text.count(old) != 1:
                sys.exit(f"{path} is another one: {old!r} occurs {text.count(old)} times")
            text = text.replace(old, new)
        (folder / path).write_text(text)


if __name__ == "__main__":
    main()
