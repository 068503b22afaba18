"""Measures the parts of a build's questions: `python -m evaluation.prompt_tokens ANSWERS… -- BUILD…`.

ANSWERS are recordings (`evaluation.recording`); BUILD is a command, such as

    xkg build --kg /tmp/kg --paper paper.tex --repo code --llm recorded

which runs with an endpoint that replays these answers, each to the question that shares the most lines with the
recorded one. To compare two versions of xkg, run both with the same answers, each with a new folder for --kg. The
output has the tokens sent (characters / 4), by prompt and by block of the question: `system` is the fixed text,
`schema` the form of the answer, `turns` a second question after an unusable answer. `repeated` is the part that a
prefix cache already has: the prefix shared with an earlier question, in steps of 128 tokens from 1,024 on."""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from evaluation.inputs.command import run_command
from evaluation.recording import kind, nearest

_BLOCK = re.compile(r"<<<(\w+) (\w+)>>>\n(.*?)\n<<<end \1 \2>>>", re.DOTALL)
_LEAST_CACHED, _STEP = 4 * 1024, 4 * 128  # characters


@dataclass
class Counts:
    """Characters sent, by the kind of answer and the block of the question."""

    calls: Counter[str] = field(default_factory=Counter)
    blocks: dict[str, Counter[str]] = field(default_factory=dict)
    answered: int = 0
    repeated: int = 0
    unanswered: int = 0
    _earlier: list[str] = field(default_factory=list)

    def add(self, body: Mapping[str, Any], answer: str | None) -> None:
        of = self.blocks.setdefault(kind(body), Counter())
        self.calls[kind(body)] += 1
        self.answered += len(answer or "")
        self.unanswered += answer is None
        texts = [str(message["content"]) for message in body["messages"]]
        schema = json.dumps(body.get("response_format", ""))
        of["system"] += len(texts[0])
        of["schema"] += len(schema)
        blocks = [(match[1], len(match[3])) for match in _BLOCK.finditer(texts[1])]
        for name, size in blocks:
            of[name] += size
        of["labels"] += len(texts[1]) - sum(size for _, size in blocks)
        of["turns"] += sum(map(len, texts[2:]))
        whole = "\n".join([schema, *texts])
        shared = max((_shared_beginning(whole, other) for other in self._earlier), default=0)
        self.repeated += shared // _STEP * _STEP if shared >= _LEAST_CACHED else 0
        self._earlier.append(whole)

    @property
    def sent(self) -> int:
        return sum(count.total() for count in self.blocks.values())

    def table(self) -> str:
        lines = []
        for name, of in sorted(self.blocks.items(), key=lambda item: -item[1].total()):
            lines.append(f"{of.total() // 4:9,}  {self.calls[name]:3} x {name}")
            lines += [f"  {size // 4:9,}  {block}" for block, size in of.most_common() if size >= 4]
        schemas = sum(of["schema"] for of in self.blocks.values())
        lines.append(
            f"{sum(self.calls.values())} calls, {self.sent // 4:,} tokens in ({(self.sent - schemas) // 4:,} without "
            f"schemas), {self.repeated // 4:,} of them repeated, {(self.sent - self.repeated) // 4:,} new "
            f"({(self.sent - self.repeated) // 4 + self.repeated // 40:,} with what is repeated at a tenth); "
            f"{self.answered // 4:,} out; {self.unanswered} without an answer"
        )
        return "\n".join(lines)


def _shared_beginning(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def serve(recorded: Sequence[Mapping[str, Any]], counts: Counts, questions: Path | None) -> ThreadingHTTPServer:
    """An endpoint on a free port of this machine that answers from recordings and counts its input."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = nearest(recorded, body)
            with lock:
                counts.add(body, answer)
                if questions is not None:
                    name = f"{sum(counts.calls.values()):03}.json"
                    (questions / name).write_text(json.dumps({"body": body, "message": {"content": answer}}), "utf-8")
            sent, wrote = sum(len(m["content"]) for m in body["messages"]) // 4, len(answer or "") // 4
            message = {"role": "assistant", "content": answer}
            usage = {"prompt_tokens": sent, "completion_tokens": wrote, "total_tokens": sent + wrote}
            reply: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
            reply |= {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}
            data = json.dumps(reply if answer is not None else {"error": {"message": "not recorded"}}).encode()
            self.send_response(200 if answer is not None else 400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def main(recordings: Sequence[Path], build: Sequence[str], questions: Path | None) -> int:
    recorded = [entry for path in recordings for entry in json.loads(path.read_text(encoding="utf-8"))]
    counts = Counts()
    if questions is not None:
        questions.mkdir(parents=True, exist_ok=True)
    server = serve(recorded, counts, questions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OPENAI_API_KEY": "recorded"}
    code = subprocess.run(build, env={**os.environ, **address}, check=False).returncode
    server.shutdown()
    print(counts.table())
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="+", type=Path, metavar="ANSWERS")
    parser.add_argument("--questions", type=Path, help="a folder for the questions, one file each")
    if "--" not in sys.argv:
        parser.error("give the build's command after --")
    split = sys.argv.index("--")
    given = parser.parse_args(sys.argv[1:split])
    run_command(lambda: main(given.recordings, sys.argv[split + 1 :], given.questions))
