"""Measures how many tokens each part of a build's questions uses: `python -m evaluation.prompt_tokens ANSWERS --
BUILD…`.

ANSWERS is a recording (`evaluation.recording`); BUILD is a command such as

    xkg build --kg /tmp/kg --paper paper.tex --repo code --llm recorded

The command runs against an endpoint that replays the recorded answers. Each question receives the answer to the
recorded question with which it has the most lines in common. To compare two versions of xkg, run both with the same
answers, each with a new --kg folder. The output lists the tokens sent (characters / 4), by prompt and by block of the
question. `system` is the fixed text, `schema` is the answer format, and `turns` are follow-up questions after an
unusable answer. `repeated` is the prefix that an endpoint's cache would already contain from an earlier question.
Cached prefixes have at least 1,024 tokens, in steps of 128."""

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.inputs.command import run_command
from evaluation.inputs.rows import read_json
from evaluation.recording import kind, nearest
from tests.llm_endpoint import Answer, ScriptedEndpoint, status

_BLOCK = re.compile(r"<<<(\w+) (\w+)>>>\n(.*?)\n<<<end \1 \2>>>", re.DOTALL)
_LEAST_CACHED, _STEP = 4 * 1024, 4 * 128  # both are character counts


@dataclass
class Counts:
    """Counts the characters sent, by answer kind and question block."""

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
            f"({(self.sent - self.repeated) // 4 + self.repeated // 40:,} with repeated tokens at a tenth); "
            f"{self.answered // 4:,} out; {self.unanswered} without an answer"
        )
        return "\n".join(lines)


def _shared_beginning(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def main(answers: Path, build: Sequence[str], *, questions: Path | None = None) -> int:
    recorded = read_json(answers)
    counts = Counts()
    if questions is not None:
        questions.mkdir(parents=True, exist_ok=True)

    def answer(body: dict[str, Any]) -> Answer:
        found = nearest(recorded, body)
        with endpoint.lock:
            counts.add(body, found)
            if questions is not None:
                name = f"{sum(counts.calls.values()):03}.json"
                (questions / name).write_text(json.dumps({"body": body, "message": {"content": found}}), "utf-8")
        return status(400, "not recorded") if found is None else found

    with ScriptedEndpoint(answer) as endpoint:
        address = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "recorded"}
        code = subprocess.run(build, env={**os.environ, **address}, check=False).returncode
    print(counts.table())
    return code


if __name__ == "__main__":
    run_command(main)
