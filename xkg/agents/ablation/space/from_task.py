"""What a task says of the space: options that its commands set, words of its metric, the components that it names."""

import re
from collections.abc import Sequence

from xkg.agents.ablation.candidates import Space
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.metric import plain_text
from xkg.errors import InputError


def options_of(task: Task) -> list[str]:
    """The options that the command line sets."""
    words = " ".join(filter(None, (task.setup, task.run, task.evaluate))).split()
    return [word.partition("=")[0] for word in words if word.startswith("-")]


def metric_keys(task: Task) -> list[str]:
    """Texts that only the code of the metric holds: the file's name, the name of the value, the words of a pattern."""
    metric = task.metric
    if metric.path is not None:
        keys = [metric.path.rpartition("/")[2], metric.key.rpartition(".")[2]]
    else:
        keys = [max(_plain_words(metric.key), key=len, default="")]
    return [key for key in keys if len(key) > 2]


def _plain_words(pattern: str) -> list[str]:
    """Those of a pattern, a number of its own (`round 10 loss`) taken out: code puts it there when it runs."""
    runs = re.findall(r"[A-Za-z][A-Za-z0-9 _@-]*+", plain_text(pattern))
    return [part.strip() for run in runs for part in re.split(r" [0-9]++(?: |$)", run)]


def only(space: Space, names: Sequence[str]) -> Space:
    """The components with one of the names in theirs. Raises `InputError` where there is none."""
    wanted = [name.casefold() for name in names]
    components = tuple(
        c for c in space.components if any(w in c.name.casefold() or w == c.id.casefold() for w in wanted)
    )
    ids = {c.id for c in components}
    if not ids:
        raise InputError(f"no component is named {', '.join(names)}; the report of a run without --only lists them")
    return space.model_copy(
        update={"components": components, "candidates": tuple(c for c in space.candidates if c.component in ids)}
    )
