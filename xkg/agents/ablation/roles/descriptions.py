"""One-line descriptions of functions by a model. Only functions without a description are asked about."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from xkg.agents.ablation.parsing import Function
from xkg.agents.ablation.roles.answers import Descriptions
from xkg.agents.ablation.roles.functions import Described, FunctionStore, key_of
from xkg.agents.workspace.command import cut_middle

_AT_ONCE, _BATCH = 25, 24_000
ONE_SOURCE = 2500
"""Characters of a function's source in a prompt."""


class AskDescriptions(Protocol):
    """Returns None if there was no usable answer."""

    def __call__(self, listed: str, about: str, check: Callable[[Descriptions], str | None]) -> Descriptions | None: ...


def described(
    functions: Sequence[Function], known: Mapping[str, Described], store: FunctionStore, ask: AskDescriptions
) -> dict[str, Described]:
    """What is known about the functions, by `key_of`. New descriptions are stored."""
    found = dict(known)
    for batch in _batches([function for function in functions if key_of(function) not in known]):
        listed = "\n\n".join(
            f"{n}. {f.path}: {f.name}\n{cut_middle(f.source, ONE_SOURCE)}" for n, f in enumerate(batch, 1)
        )

        def check(answer: Descriptions, count: int = len(batch)) -> str | None:
            missing = set(range(1, count + 1)) - {each.number for each in answer.functions}
            return f"the numbers {sorted(missing)[:8]} have no text" if missing else None

        answer = ask(listed, batch[0].path, check)
        for each in answer.functions if answer else ():
            if 1 <= each.number <= len(batch):
                key, text = key_of(batch[each.number - 1]), " ".join(each.text.split())[:300]
                store.add(key, text)
                found.setdefault(key, Described(text=text))
    return found


def _batches(functions: Sequence[Function]) -> list[list[Function]]:
    batches: list[list[Function]] = []
    room = 0
    for function in functions:
        size = min(len(function.source), ONE_SOURCE)
        if not batches or len(batches[-1]) == _AT_ONCE or room < size:
            batches.append([])
            room = _BATCH
        batches[-1].append(function)
        room -= size
    return batches
