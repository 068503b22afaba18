"""Adds COUNT papers to a library, one at a time: `python -m tests.library.writers PLACE KG NAME COUNT`."""

import sys
from pathlib import Path

from xkg.library.heads import Change, add
from xkg.library.layout import Package, Row, Version
from xkg.library.open import open_place
from xkg.library.state import Seen

NOTHING = "0" * 64


def change(paper: str, content: str = NOTHING, *, seen: tuple[str, ...] = (), holds: tuple[str, ...] = ()) -> Change:
    package = Package(name=content, size=0, holds=holds)
    version = Version(content=content, packages=(package,), levels={"tested": 1}, pushed="2026-01-01T00:00:00+00:00")
    return Change(row=Row(paper=paper, title=f"Paper {paper}: a title", versions=(version,)), seen=seen)


def main(place: str, kg: str, name: str, count: str) -> None:
    opened = open_place(place, Path(kg))
    with Seen(Path(kg), place) as seen:
        for number in range(int(count)):
            assert add(opened, [change(f"{name}-{number}")], seen) == 1
    opened.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
