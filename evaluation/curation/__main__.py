"""recall@10 of a curation: `python -m evaluation.curation FOLDER`, or `… prepare FOLDER` to make a folder.

    python -m evaluation.curation prepare FOLDER --papers DIR --graphs DIR --mirrors DIR
    python -m evaluation.curation FOLDER [--target NAME] [--llm none] [--most 10] [--json FILE]

The folder's format is in `evaluation.curation.world`. `prepare` fills it from folders of targets, of graphs in the
published format (titles, abstracts, references) and of git mirrors (README, licence, days), and from
`evaluation/gold/curation`, which has only facts: arXiv ids, titles, authors, and which titles belong to which target.
It sends no requests to the internet.

The tests' programs serve the folder on loopback: they speak the protocols of arXiv, OpenAlex and GitHub, and search by
words. Requests are sent without pauses, and their number is printed. For each target, the output has recall@10 of its
expected papers and of those that it cites, the chosen papers with reasons, and the step at which each missed paper was
lost."""

import argparse
import json
import tempfile
import time
from pathlib import Path

from evaluation.curation.prepare import prepare
from evaluation.curation.report import Found, judged, printed, summary
from evaluation.curation.world import Target, served, targets
from evaluation.inputs.command import run_command
from tests.build.scholarly_stand_in import Scholarly
from tests.clock import TurnedClock
from xkg.commands.curate import curate
from xkg.config import ArxivSettings, CurationSettings, LlmSettings, Settings


def measure(web: Scholarly, target: Target, kg: Path, llm: str, most: int) -> Found:
    settings = Settings(
        kg=kg,
        llm=LlmSettings(model=llm),
        arxiv=ArxivSettings(url=web.url),
        curation=CurationSettings(openalex=web.openalex, github=web.github),
    )
    web.requests.clear()
    started = time.monotonic()
    curated = curate(settings, str(target.paper), most=most, blacklist=target.blacklist, clock=TurnedClock())
    return judged(web, target, curated, time.monotonic() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+", help="FOLDER, or: prepare FOLDER")
    parser.add_argument("--papers", type=Path, help="prepare: folders of targets")
    parser.add_argument("--graphs", type=Path, help="prepare: graphs in the published format")
    parser.add_argument("--mirrors", type=Path, help="prepare: git directories, OWNER+NAME/repo")
    parser.add_argument("--target", action="append", help="only this one")
    parser.add_argument("--llm", default="none")
    parser.add_argument("--most", type=int, default=10)
    parser.add_argument("--json", type=Path, help="also write the curated sets to this file")
    given = parser.parse_args()
    *verb, folder = given.folder
    if verb == ["prepare"]:
        prepare(Path(folder), given.papers, given.graphs, given.mirrors)
        return
    if verb:
        parser.error("give one folder")
    found = []
    with served(Path(folder)) as web, tempfile.TemporaryDirectory(prefix="xkg-curation-") as kg:
        for target in targets(Path(folder)):
            if given.target and target.name not in given.target:
                continue
            one = measure(web, target, Path(kg), given.llm, given.most)
            print(printed(one), flush=True)
            found.append(one)
    print(summary(found))
    if given.json:
        given.json.write_text(json.dumps([one.curated.model_dump() for one in found], indent=1), "utf-8")


if __name__ == "__main__":
    run_command(main)
