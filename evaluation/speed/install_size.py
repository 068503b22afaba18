"""Measures an installation's size on disk: `python -m evaluation.speed.install_size [EXTRA…]`.

A wheel is built from this tree, and each combination of extras is installed into an empty environment, with the
versions in `constraints.txt`. As with pip, modules are compiled to bytecode. The embedding model's weights are added as
xkg stores them. Requires access to the package index, or the packages in uv's cache."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evaluation.inputs.command import run_command
from xkg.embeddings.published_weights import minilm

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = "weights"
CHOICES = ("", "build", "neo4j", "all")
AIMS = {"": 300, "all": 450}
LARGEST = 14


def main(extras: Sequence[str] = CHOICES) -> None:
    console = Console(width=100)
    with tempfile.TemporaryDirectory(prefix="xkg-size-") as folder:
        wheel = _wheel(Path(folder))
        for number, each in enumerate(extras):
            packages = _installed(wheel, each, Path(folder) / f"venv{number}")
            bytecode = sum(file.stat().st_size for file in packages.rglob("*.pyc"))
            console.print(_table(each, _sizes(packages), bytecode))


def _uv(*arguments: str | Path) -> None:
    subprocess.run((Path(sys.executable).with_name("uv"), *arguments, "--quiet"), cwd=ROOT, check=True)


def _wheel(folder: Path) -> Path:
    _uv("build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
    return next(folder.glob("*.whl"))


def _installed(wheel: Path, extras: str, folder: Path) -> Path:
    """Installs the wheel into a new environment, and returns its package folder."""
    _uv("venv", "--python", sys.executable, folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    install = ("pip", "install", "--compile-bytecode", "--python", python)
    _uv(*install, "--constraint", ROOT / "constraints.txt", f"{wheel}[{extras}]" if extras else wheel)
    return next(folder.glob("**/site-packages"))


def _sizes(packages: Path) -> dict[str, int]:
    """Returns the bytes per package, largest first."""
    sizes = {str(package.name): sum(_file_sizes(package)) for package in distributions(path=[str(packages)])}
    sizes[WEIGHTS] = sum(file.stat().st_size for file in minilm().iterdir())
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def _file_sizes(package: Distribution) -> Iterator[int]:
    for file in package.files or ():
        path = Path(str(package.locate_file(file)))
        if path.is_file():
            yield path.stat().st_size
            if path.suffix == ".py":
                yield from (each.stat().st_size for each in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"))


def _table(extras: str, sizes: dict[str, int], bytecode: int) -> Table:
    total = sum(sizes.values())
    aim = f", aim {AIMS[extras]}" if extras in AIMS else ""
    title = f"xkg\\[{extras}]" if extras else "xkg"
    table = Table(
        title=f"{title}: {total / 1e6:.0f} MB in {len(sizes) - 1} packages, {sizes[WEIGHTS] / 1e6:.0f} weights, "
        f"{bytecode / 1e6:.0f} bytecode{aim}"
    )
    table.add_column("package")
    table.add_column("MB", justify="right")
    for name, size in list(sizes.items())[:LARGEST]:
        table.add_row(name, f"{size / 1e6:.1f}")
    table.add_row("all others", f"{sum(list(sizes.values())[LARGEST:]) / 1e6:.1f}")
    return table


if __name__ == "__main__":
    run_command(main)
