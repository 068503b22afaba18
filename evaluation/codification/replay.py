"""Runs `xkg implement` with stored answers on the project's own example, from which one technique was removed. The
graph's stored test for the technique and mutants of the new code then check the result.

    python -m evaluation.codification.replay FOLDER [--case example_median] [--mode agent]

FOLDER gets, by case, the starter and for each mode a folder with its run. The answers (`cases/*/answers/MODE.json`) are
given in order, each to the first question that asks for an answer of its form, whatever the prompt's words. So a
changed prompt does not invalidate them. No model is measured, only how the command and the checks handle the same
answers. The rows `example` and `starter` are the original code, and the code without the technique."""

import argparse
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from evaluation.codification.evidence import Judged, evidence, judged, judged_file
from evaluation.codification.properties import CASES
from evaluation.inputs.command import run_command
from evaluation.recording import kind
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.start import RUNS, implement
from xkg.agents.codification.task import read_task
from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.command import packages_for
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.workspace import Workspace
from xkg.config import Settings, load
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.select import runner_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "svgd" / "code"
MODES = ("agent", "prescribed", "single")


def cases() -> list[str]:
    """The cases with stored answers, in order."""
    return sorted(path.parent.name for path in CASES.glob("*/answers"))


def starter(case: str, folder: Path) -> Path:
    """The starter of a case, made from the example if it does not exist yet."""
    place = folder / "starter"
    if not place.exists():
        subprocess.run([sys.executable, str(CASES / case / "prepare.py"), str(EXAMPLE), str(place)], check=True)
    return place


def replayed(case: str, mode: str, folder: Path, settings: Settings) -> CodificationResult:
    """The result of one mode on a case, with the stored answers and the starter in `folder`. `settings` name the graph;
    their model is replaced."""
    answers = json.loads((CASES / case / "answers" / f"{mode}.json").read_text(encoding="utf-8"))
    task = read_task(CASES / case / "implement.yaml", {"starter": str(starter(case, folder)), "mode": mode})
    with answering(answers) as address:
        llm = settings.llm.model_copy(update={"model": "stored-answers", "base_url": address, "max_cost": None})
        return implement(settings.model_copy(update={"llm": llm}), task)


@contextmanager
def answering(answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The address of an endpoint on loopback that gives each answer once, in order, to the first question that asks for
    one of its fields; HTTP 400 if none is left."""
    left = list(answers)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fields = set(kind(body).split(", "))
            with lock:
                found = next((each for each in left if set(each) == fields), None)
                if found is not None:
                    left.remove(found)
            if found is None:
                self._send(400, {"error": {"message": f"no stored answer is left for {sorted(fields)}"}})
                return
            words = json.dumps(found)
            message = {"role": "assistant", "content": words}
            asked = sum(len(str(each["content"])) for each in body["messages"]) // 4
            usage = {"prompt_tokens": asked, "completion_tokens": len(words) // 4, "total_tokens": 0}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            self._send(200, {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"],
                             "choices": choices, "usage": usage})  # fmt: skip

        def _send(self, code: int, answer: Mapping[str, Any]) -> None:
            data = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Does nothing: standard error is for people."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def references(case: str, run: Path, settings: Settings) -> dict[str, Judged]:
    """The checks of the example's own code and of the starter, in the packages of a run."""
    file = judged_file(case)
    workspace = Workspace.open(run)
    runner = runner_for(settings.sandbox)
    with agent_parsers() as parsers:
        reader = SourceReader(parsers)
        maker = UvEnvironments(settings.environment, runner)
        environment = packages_for(workspace, maker, reader)
    without = workspace.files_of(0)[file].content.decode()
    source = (EXAMPLE / file).read_text(encoding="utf-8")
    new = {n for n, line in enumerate(source.splitlines(), 1) if line not in without.splitlines()}
    return {
        "example": judged(source, new, case, runner, environment),
        "starter": judged(without, frozenset(), case, runner, environment),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where starters, graph and runs go")
    parser.add_argument("--case", action="append", choices=cases(), help="a case (all of them)")
    parser.add_argument("--mode", action="append", choices=MODES, help="a mode (all of them)")
    options = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True, width=160)
    columns = ("case", "code of", "class", "metric", "steps, edits", "stored test", "level", "mutants noticed")
    table = Table(*columns, title="The example's techniques, put back")
    lines = []
    for case in options.case or cases():
        folder = options.folder / case
        run = None
        for mode in options.mode or MODES:
            settings = load().model_copy(update={"kg": folder / mode})  # a shared ledger would reuse answers
            result = replayed(case, mode, folder, settings)
            run = settings.kg / RUNS / result.run
            found = evidence(run, case, settings)
            metric = f"{result.metric_before} -> {result.metric_after}"
            table.add_row(case, mode, result.result, metric, f"{result.steps}, {result.edits}", *_cells(found))
            lines.append(f"{case}, {mode}: {found}")
        if run is not None:
            for name, found in references(case, run, settings).items():
                table.add_row(case, name, "", "", "", *_cells(found))
                lines.append(f"{case}, {name}: {found}")
    console.print(table)
    for line in lines:
        console.print(line)


def _cells(found: Judged) -> tuple[str, str, str]:
    killed = f"{found.killed} of {found.tried}" if found.passes else "-"
    return "passes" if found.passes else "fails", str(found.level), killed


if __name__ == "__main__":
    run_command(main)
