"""Prepares the case: the project's own example with the adaptive step size removed from its code.

    python prepare.py EXAMPLE FOLDER

EXAMPLE is `examples/svgd/code`; FOLDER gets the starter."""

import shutil
import sys
from pathlib import Path


def main() -> None:
    example, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.copytree(example, folder)
    sizes, sampler = folder / "svgd" / "stepsize.py", folder / "svgd" / "sampler.py"
    text = sizes.read_text()
    start, end = text.index("class AdaGrad:"), text.index("class ConstantStep:")
    sizes.write_text(text[:start] + text[end:])
    text = sampler.read_text()
    if text.count("AdaGrad") != 2:
        sys.exit(f"{sampler} is another one")
    sampler.write_text(text.replace("AdaGrad", "ConstantStep"))


if __name__ == "__main__":
    main()
