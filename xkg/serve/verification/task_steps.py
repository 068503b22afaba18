"""Splits a task into steps to search for, with the language model or based on the text's structure."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

from xkg.errors import XkgError
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt
from xkg.serve.answers.types import short
from xkg.serve.search.clauses import PART_WORDS, parts
from xkg.serve.verification.model_questions import Questions
from xkg.text.unicode import one_line

MOST_STEPS = 6
BY_STRUCTURE = "by the text's own structure"
_STEP_CHARACTERS = 600

_PROMPT = Path(__file__).parent / "prompts" / "decompose.md"
_ITEM = re.compile(r"^[ \t]*(?:[-*+\u2022]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+(?=\S)", re.M)
_BLANK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.;!?])\s+(?=\S)|\n+")


class Steps(AnswerType):
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Decomposed:
    """A task's steps (at least one). `by` describes how the steps were found. `by_model` says whether a model found the
    steps."""

    steps: list[str]
    by: str
    by_model: bool


def decompose(questions: Questions, task: str) -> Decomposed:
    """Splits a task into steps. Waits up to `serve.questions.wait_seconds` for the model."""
    try:
        question = questions.begin(load_prompt(_PROMPT), Steps, {"task": task}, short(task, 80), _objection)
        answered = questions.wait(question, time.monotonic() + questions.wait_seconds)
    except XkgError as error:
        return Decomposed(by_structure(task), f"{BY_STRUCTURE}, not by a model: {error}", False)
    return Decomposed(list(map(one_line, answered.answer.steps)), f"by {answered.model}", True)


def by_structure(task: str) -> list[str]:
    """Splits a task into list items, if there are any, or else into sentences. A single long sentence is split into
    clauses. Returns the task itself if the task has only one part. Very short sentences are joined to the previous
    sentence."""
    items = [one_line(_BLANK.split(item)[0]) for item in _ITEM.split(task)[1:]]
    if len(items) > 1:
        return _distinct(items)
    sentences: list[str] = []
    for sentence in map(one_line, _SENTENCE.split(task)):
        if sentences and len(sentence.split()) < PART_WORDS:
            sentences[-1] = f"{sentences[-1]} {sentence}"
        else:
            sentences.append(sentence)
    sentences = _distinct(sentences)
    if len(sentences) > 1:
        return sentences
    return _distinct(parts(one_line(task))) or [one_line(task)]


def _objection(answer: Steps) -> str | None:
    steps = list(map(one_line, answer.steps))
    if not 1 <= len(steps) <= MOST_STEPS:
        return f"give 1 to {MOST_STEPS} steps"
    if not all(steps) or len(set(steps)) < len(steps):
        return "each step has text, and no two are equal"
    if any(len(step) > _STEP_CHARACTERS for step in steps):
        return f"a step has at most {_STEP_CHARACTERS} characters"
    return None


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
