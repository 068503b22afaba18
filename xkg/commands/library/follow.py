"""Keeps a graph up to date with libraries. `xkg serve --library` pulls from them regularly, and `xkg update` checks
them before it builds."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from xkg.commands.library.pull import pull
from xkg.config import Settings
from xkg.errors import InputError, XkgError
from xkg.library.heads import files_of, open_head
from xkg.library.layout import Version
from xkg.library.open import open_place
from xkg.library.places import shown
from xkg.library.state import FOLDER, Seen, known_libraries
from xkg.text.unicode import printable_line

log = logging.getLogger(__name__)


class Wanted(NamedTuple):
    """The sources from which to build a paper: an arXiv version, such as `v2`, and a commit. None means any version or
    commit."""

    arxiv_version: str | None
    commit: str | None

    def is_met(self, version: Version) -> bool:
        has_commit = any(each.rpartition("@")[2] == self.commit for each in version.commits)
        return self.arxiv_version in (None, version.arxiv_version) and (self.commit is None or has_commit)


def in_libraries(settings: Settings, wanted: Mapping[str, Wanted]) -> dict[str, str]:
    """Maps each wanted paper to a library that contains it. Searches only libraries from which papers have been pulled,
    and skips unreachable libraries."""
    found: dict[str, str] = {}
    for place in known_libraries(settings.kg) if wanted else ():
        try:
            with Seen(settings.kg, place) as seen, closing(open_place(place, settings.kg / FOLDER)) as library:
                head, files = open_head(library, seen).head, files_of(library)
                for paper in wanted.keys() - found.keys():
                    row = files.row(head, paper)
                    if row is not None and wanted[paper].is_met(row.versions[0]):
                        found[paper] = place
        except InputError as error:
            log.warning("%s was not queried: %s", shown(place), printable_line(str(error)))
    return found


@contextmanager
def following(settings: Settings, places: Sequence[str], minutes: float) -> Iterator[None]:
    """Pulls new papers from these libraries immediately and then every `minutes` minutes, until the context manager
    exits. Failed pulls are logged and retried the next time."""
    ended = threading.Event()

    def follow() -> None:
        while not ended.is_set():
            for place in places:
                try:
                    result = pull(settings, place)
                except XkgError as error:
                    log.warning("nothing was pulled from %s: %s", shown(place), printable_line(str(error)))
                except Exception:
                    log.exception("nothing was pulled from %s", shown(place))
                else:
                    for problem in result.problems:
                        log.warning("not pulled from %s: %s", shown(place), printable_line(problem))
                    if result.papers:
                        log.info("pulled %d papers from %s", len(result.papers), shown(place))
            ended.wait(minutes * 60)

    if not places:
        yield
        return
    thread = threading.Thread(target=follow, name="libraries", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
