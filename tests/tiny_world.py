"""Provides a tiny paper, its repository, and the answers to every question of its build. The code uses only the
standard library, so that the sandbox needs no packages.

with ScriptedEndpoint(answers()) as endpoint: ... # what every build of this paper asks, answered

Some of the first answers are wrong, so that a build uses every prompt. One test, for the damping, expects a wrong value
(`repair`). The test for the clipping misses too many changes (`strengthen`). The filter damps before it clips, which
`fidelity` reports and `revise` fixes. One technique, the gap report, is only in the paper."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.llm_endpoint import Answer
from xkg.build.guided.draft import PROMPTS, prompt
from xkg.config import EnvironmentSettings, LlmSettings, SandboxSettings, Settings

ID = "title:damped-peak-filtering-of-noisy-counts"
FILTER = f"{ID}#damped-peak-filter"
CLIPPING = f"{FILTER}/median-peak-clipping"
DAMPING = f"{FILTER}/exponential-damping"
GAPS = f"{FILTER}/gap-report"

_PAPER = r"""# Damped Peak Filtering of Noisy Counts

## Abstract

Counters that stand in the rain report peaks that no traffic explains. We propose the damped peak filter, which takes
them out in two steps and needs two parameters.

## Introduction

Counts of passing wagons are noisy. A filter for them has to be cheap, since it runs on the counter itself, and it must
not need a model of the traffic.

## Method

The damped peak filter works on a list of counts. It first applies median peak clipping to the whole list and then
exponential damping to what is left, and returns a list of the same length. It closes with a gap report.

### Median peak clipping

Median peak clipping sorts the counts and takes the one in the middle, $m$. Every count above the bound $b = c m$ is
replaced by $b$; the others stay as they are. We use the factor $c = 3$.

### Exponential damping

Exponential damping follows the counts with a level $s$. The level starts at the first count, and each count $x$ moves
it by a share of the difference, $s = s + r (x - s)$. We use the rate $r = 0.25$. The levels are returned as a list.

### Gap report

The gap report lists the hours in which a counter gave nothing at all. It is written by hand at the end of each month.

## Experiments

On a year of counts from a quiet crossing the filter removes all peaks that were caused by rain.

## Conclusion

The damped peak filter is small enough for a counter.
"""

FILES = {
    "README.md": "# Counts\n\nThe damped peak filter for counts: clipping, then damping. Run `python -m counts`.\n",
    "counts/clipping.py": '''def clip_peaks(values, factor=3.0):
    """Counts above factor times their median come down to that."""
    ordered = sorted(values)
    bound = factor * ordered[len(ordered) // 2]
    clipped = []
    for value in values:
        if value > bound:
            value = bound
        clipped.append(value)
    return clipped
''',
    "counts/damping.py": '''def damp(values, rate=0.25):
    """The levels that follow the counts."""
    level = values[0]
    levels = []
    for value in values:
        level = level + rate * (value - level)
        levels.append(level)
    return levels
''',
    "counts/filtering.py": '''from counts.clipping import clip_peaks
from counts.damping import damp


def filter_counts(values, factor=3.0, rate=0.25):
    """Clips peaks, then damps what is left."""
    clipped = clip_peaks(values, factor)
    return damp(clipped, rate)
''',
    "counts/__init__.py": "",
}

CLIP = FILES["counts/clipping.py"]
CLIP_TEST = """from implementation import clip_peaks

assert clip_peaks([4.0, 31.0, 5.0, 7.0, 6.0]) == [4.0, 18.0, 5.0, 7.0, 6.0]
assert clip_peaks([4.0, 31.0, 5.0, 7.0, 6.0], 1.5) == [4.0, 9.0, 5.0, 7.0, 6.0]
"""
_BLUNT = """from implementation import clip_peaks

assert len(clip_peaks([4.0, 31.0, 5.0, 7.0, 6.0])) == 5
"""
DAMP = FILES["counts/damping.py"]
DAMP_TEST = """from implementation import damp

assert damp([4.0, 8.0, 16.0]) == [4.0, 5.0, 7.75]
assert damp([4.0, 8.0], 0.75) == [4.0, 7.0]
"""
_FILTERED = """    clipped = clip_peaks(values, factor)
    return damp(clipped, rate)
"""
_REVERSED = """    levels = damp(values, rate)
    return clip_peaks(levels, factor)
"""
FILTER_CODE = f'def filter_counts(values, factor=3.0, rate=0.25):\n    """Takes peaks out of counts."""\n{_FILTERED}'
FILTER_TEST = """from implementation import filter_counts

assert filter_counts([4.0, 31.0, 5.0, 7.0, 6.0]) == [4.0, 7.5, 6.875, 6.90625, 6.6796875]
assert filter_counts([4.0, 31.0, 5.0], 1.5, 0.5) == [4.0, 5.75, 5.375]
"""
_REVERSED_TEST = """from implementation import filter_counts

assert filter_counts([4.0, 31.0, 5.0, 7.0, 6.0]) == [4.0, 10.75, 9.3125, 8.734375, 8.05078125]
assert filter_counts([4.0, 31.0, 5.0], 1.5, 0.5) == [4.0, 16.875, 11.25]
"""
_DOCUMENTATION = (
    "It is a step of the damped peak filter for counts. It takes a list of counts. It returns a list of the same "
    "length. Its parameters have the values of the repository. Nothing of the source was left out."
)


@dataclass(frozen=True)
class World:
    paper: Path
    repository: Path

    @property
    def arguments(self) -> tuple[str, str, str, str]:
        """Returns the arguments of `xkg build` for the paper and its repository."""
        return ("--paper", str(self.paper), "--repo", str(self.repository))


def written_to(folder: Path) -> World:
    folder.mkdir(parents=True, exist_ok=True)
    paper, repository = folder / "paper.md", folder / "counts"
    paper.write_text(_PAPER)
    for name, text in FILES.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    return World(paper, repository)


def settings_for(kg: Path, url: str, **llm: Any) -> Settings:
    """Returns settings with the endpoint at `url`, without packages and with short limits."""
    return Settings(
        kg=kg,
        llm=LlmSettings(**{"model": "o4-mini", "base_url": url, "seconds": 20, **llm}),
        environment=EnvironmentSettings(max_mb=0),
        sandbox=SandboxSettings(seconds=10, memory_mb=512),
    )


@dataclass(frozen=True)
class Question:
    """A question in a request: the prompt's name, its inputs, the technique if there is only one, and the complaint
    about an earlier answer. If a request is about several techniques, `parts` contains one question for each."""

    prompt: str
    inputs: Mapping[str, str]
    complaint: str | None

    @property
    def technique(self) -> str:
        """Returns the name of the only technique in the question."""
        if self.prompt in _LISTED:
            return re.split(r"\n", self.section, maxsplit=1)[0].partition(". ")[2]
        return re.split(r"[:.]", self.inputs["definition"], maxsplit=1)[0]

    @property
    def section(self) -> str:
        """Returns the part of the question about its technique. The question must be about one technique only."""
        return self.inputs[_LISTED[self.prompt][0]]

    @property
    def parts(self) -> list["Question"]:
        listed = _LISTED[self.prompt][0]
        sections = re.split(r"^(?=## \d+\. )", self.inputs[listed], flags=re.M)[1:]
        return [Question(self.prompt, {**self.inputs, listed: text}, self.complaint) for text in sections]


# These prompts are about several techniques. Each entry contains the input that lists the techniques, and the answer's
# field with one element per technique.
_LISTED = {"modularize": ("techniques", "modules"), "fidelity": ("modules", "verdicts")}


def joined(asked: Question, of: Callable[[Question], Answer]) -> Answer:
    """Combines the answers about single techniques into one answer. If an answer is not a mapping, it replaces the
    whole answer."""
    if asked.prompt not in _LISTED:
        return of(asked)
    found: list[Any] = [of(part) for part in asked.parts]
    if odd := [each for each in found if not isinstance(each, Mapping)]:
        return odd[0]
    numbers = [int(re.findall(r"\d+", part.section)[0]) for part in asked.parts]
    listed = [{"technique": n, **each} for n, each in zip(numbers, found, strict=True)]
    return {"modules": [], "verdicts": [], _LISTED[asked.prompt][1]: listed}


def question(body: Mapping[str, Any]) -> Question:
    messages = body["messages"]
    fixed = f"{messages[0]['content']}\n{messages[1]['content']}"
    name = next(name for words, name in _endings().items() if words in fixed)
    found = re.findall(r"<<<(\w+) ([0-9a-f]{8})>>>\n(.*?)\n<<<end \1 \2>>>", messages[1]["content"], re.S)
    return Question(name, {key: text for key, _, text in found}, messages[-1]["content"] if len(messages) > 2 else None)


@cache
def _endings() -> Mapping[str, str]:
    """Returns the last line of each prompt."""
    return {prompt(path.stem).user.splitlines()[-1]: path.stem for path in PROMPTS.glob("*.md")}


Scripted = Callable[[Question], Answer | None]


def answers(**changed: Scripted) -> Callable[[dict[str, Any]], Answer]:
    """Returns a function that answers every question of a build, for a `ScriptedEndpoint`. `changed` overrides answers
    by the name of the prompt. If it returns None, the usual answer is used."""

    def of(asked: Question) -> Answer:
        given = changed[asked.prompt](asked) if asked.prompt in changed else None
        return _USUAL[asked.prompt](asked) if given is None else given

    def answer(body: dict[str, Any]) -> Answer:
        return joined(question(body), of)

    return answer


def script(**changed: Scripted) -> Any:
    """Returns the same answers for a `FakeModel`. A changed answer may also raise an error."""

    def of(asked: Question) -> Answer:
        given = changed[asked.prompt](asked) if asked.prompt in changed else None
        return _USUAL[asked.prompt](asked) if given is None else given

    return {name: lambda inputs, name=name: joined(Question(name, inputs, None), of) for name in _USUAL}


# --- the usual answers ------------------------------------------------------------------------------------------------


def _passage(text: str, words: str) -> int:
    """Returns the number of the passage that contains the words."""
    at = text.index(words)
    return int(re.findall(r"\[(\d+)\]", text[:at])[-1])


def components(asked: Question) -> dict[str, Any]:
    paper = asked.inputs["paper"]
    listed: list[tuple[str, str, str | None, str, str]] = [
        (
            "Damped peak filter",
            "methodology",
            None,
            "A list of counts is clipped at a bound that its median sets, and what is left is damped; the result is a "
            "list of the same length.",
            "It first applies",
        ),
        (
            "Median peak clipping",
            "technique",
            "Damped peak filter",
            "Every count above $b = c m$, with $m$ the count in the middle and the factor $c = 3$, is replaced by $b$.",
            "Every count above",
        ),
        (
            "Exponential damping",
            "technique",
            "Damped peak filter",
            "A level $s$ starts at the first count, and each count $x$ moves it, $s = s + r (x - s)$, with the rate "
            "$r = 0.25$. The levels are returned as a list.",
            "The level starts",
        ),
        (
            "Gap report",
            "technique",
            "Damped peak filter",
            "The hours in which a counter gave nothing are listed.",
            "lists the hours",
        ),
    ]
    found = [
        {
            "name": name,
            "type": kind,
            "parent": parent,
            "aliases": [],
            "definition": text,
            "passages": [_passage(paper, words)],
            "code": [],
        }
        for name, kind, parent, text, words in listed
    ]
    finding: dict[str, Any] = {"type": "finding", "parent": None, "aliases": [], "passages": [], "code": []}
    return {
        "components": [
            *found,
            {**finding, "name": "All peaks caused by rain go", "definition": "On a year of counts all peaks go."},
        ],
        "subfield": "stat.AP",
    }


PLACES = {
    "Damped peak filter": "filter_counts",
    "Median peak clipping": "clip_peaks",
    "Exponential damping": "damp",
}


def places(asked: Question, where: Mapping[str, str] = PLACES) -> dict[str, Any]:
    """Locates each technique at the function in `where`, or nowhere."""
    names = re.findall(r"^(\d+)\. (.+?) \((?:methodology|technique)", asked.inputs["techniques"], re.M)
    numbers = {name: n for n, name in re.findall(r"^\[(\d+)\] \S+::(\w+) \(function", asked.inputs["candidates"], re.M)}
    return {
        "techniques": [
            {
                "technique": int(n),
                "why": "its body does it" if name in where else "nothing does it",
                "places": [{"symbol": numbers[where[name]], "sure": "high", "lines": []}] if name in where else [],
                "lacking": "",
            }
            for n, name in names
        ]
    }


def written(implementation: str, test: str) -> dict[str, Any]:
    return {
        "declined": None,
        "statements": [],
        "implementation": implementation,
        "test": test,
        "documentation": _DOCUMENTATION,
    }


def declined(reason: str) -> dict[str, Any]:
    return {"declined": reason, "statements": [], "implementation": "", "test": "", "documentation": ""}


def _numbers(definition: str) -> list[int]:
    """Returns the numbers of the definition's statements. Questions write these numbers as `[1]`."""
    return [int(n) for n in re.findall(r"^\[(\d+)\] ", definition, re.M)]


def code(asked: Question) -> dict[str, Any]:
    """Returns the first answer, which is partly wrong."""
    given = {
        "Median peak clipping": written(CLIP, _BLUNT),
        "Exponential damping": written(DAMP, DAMP_TEST.replace("7.75", "7.5")),
        "Damped peak filter": written(FILTER_CODE.replace(_FILTERED, _REVERSED), _REVERSED_TEST),
    }[asked.technique]
    return _whole(asked, given)


def sound(asked: Question) -> dict[str, Any]:
    """Returns an answer without errors."""
    given = {
        "Median peak clipping": written(CLIP, CLIP_TEST),
        "Exponential damping": written(DAMP, DAMP_TEST),
        "Damped peak filter": written(FILTER_CODE, FILTER_TEST),
    }[asked.technique]
    return _whole(asked, given)


def _whole(asked: Question, given: dict[str, Any]) -> dict[str, Any]:
    """Includes code that none of the filter's components provides."""
    numbers = _numbers(asked.section)
    given = {**given, "statements": [{"statement": n, "origin": "none", "note": ""} for n in numbers]}
    if asked.technique != "Damped peak filter":
        return given
    made_of = re.findall("^Made of: .*", asked.section, re.M)
    parts = {"Median peak clipping (": CLIP, "Exponential damping (": DAMP}
    here = [part for name, part in parts.items() if made_of and name in made_of[0]]
    done = asked.inputs.get("components", "")
    missing = [part for part in (CLIP, DAMP) if part.partition("(")[0] not in done and part not in here]
    return {**given, "implementation": "\n\n".join([*missing, given["implementation"]])}


def edits(cause: str, *changes: tuple[str, str, str]) -> dict[str, Any]:
    """Returns an answer with these edits, each given as file, text and replacement."""
    return {"cause": cause, "edits": [{"file": f, "search": s, "replace": r} for f, s, r in changes]}


def _repair(asked: Question) -> dict[str, Any]:
    return {"Exponential damping": edits("the last level is 5 + 0.25 * 11", ("test", "7.5]", "7.75]"))}[asked.technique]


def _sharper(_: Question) -> dict[str, Any]:
    return edits("it looks at the length alone", ("test", "", _BLUNT + CLIP_TEST.partition("\n\n")[2]))


def verdict(*faults: tuple[str, str]) -> dict[str, Any]:
    """Returns an answer that lists these faults of a module. Each fault has a kind and a remark."""
    found = [{"kind": kind, "remark": remark} for kind, remark in faults]
    return {"compared": "the loops", "statements": [], "faults": found}


def _verdict(asked: Question) -> dict[str, Any]:
    wrong = "damp(values, rate)" in asked.section
    remark = "filter_counts damps before it clips; the lines clip first"
    described = Question("modularize", asked.inputs, None).parts
    numbers = [n for part in described if part.technique == asked.technique for n in _numbers(part.section)]
    agreed = [{"statement": n, "verdict": "same", "remark": ""} for n in numbers]
    return {**verdict(*([("foreign", remark)] if wrong else [])), "statements": agreed}


def _revision(_: Question) -> dict[str, Any]:
    return edits(
        "it damps before it clips",
        ("implementation", _REVERSED, _FILTERED),
        ("test", "", FILTER_TEST),
    )


_USUAL: Mapping[str, Callable[[Question], Answer]] = {
    "extract": components,
    "ground": places,
    "modularize": code,
    "repair": _repair,
    "strengthen": _sharper,
    "fidelity": _verdict,
    "revise": _revision,
    "recheck": lambda _: {"technique": 1, **verdict()},
}
