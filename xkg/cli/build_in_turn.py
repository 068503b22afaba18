"""Builds papers one after the other, and prints what became of each."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xkg.cli.display.output import print_each, print_text
from xkg.errors import InputError, XkgError

if TYPE_CHECKING:
    from xkg.config import Settings


def build_in_turn(
    settings: "Settings",
    pairs: Sequence[tuple[str, str | None]],
    paper_id: str | None,
    progress: Literal["text", "json"],
    roots: Sequence[Path] | None,
    blacklist: Path | None,
    as_json: bool,
    *,
    first: bool = False,
) -> None:
    """Builds papers one after the other and prints the results. `paper_id` is that of the first. Raises `InputError`
    where one failed or is partial, and what a single build raises."""
    from xkg.cli.display.progress import json_lines, text_lines
    from xkg.commands import build

    results, failures = [], []
    with json_lines() if progress == "json" else text_lines(len(pairs)) as notify:
        for number, (source, repository) in enumerate(pairs):
            try:
                results.append(
                    build.build(
                        settings,
                        source,
                        repository,
                        paper_id=paper_id if number == 0 else None,
                        notify=notify,
                        roots=roots,
                        blacklist=blacklist,
                        first=first,
                    )
                )
            except XkgError as error:
                if len(pairs) == 1:
                    raise
                failures.append(f"{source}: {error}")
    for result in results:
        for note in result.notes:
            print_text(f"note: {note}", err=True)
        failures += [f"{result.paper}: {result.unfinished}"] if result.unfinished else []
    for failure in failures if len(pairs) > 1 else ():
        print_text(f"failed: {failure}", err=True)
    print_each(results, as_json, several=len(pairs) > 1)
    if failures:
        raise InputError(
            failures[0] if len(pairs) == 1 else f"{len(failures)} of {len(pairs)} papers failed; run again to go on"
        )
