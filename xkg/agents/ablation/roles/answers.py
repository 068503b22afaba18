"""Defines the types of the roles' answers. Numbers in answers refer to lists in the prompts."""

from xkg.agents.ablation.candidates import Kind
from xkg.agents.workspace.files.edits import FileEdit
from xkg.llm.client import AnswerType


class PlaceNamed(AnswerType):
    """A place in the code. `symbol` is a function in the file, or '' for module level. If there are no lines, the whole
    function is meant."""

    path: str
    symbol: str
    start_line: int | None
    end_line: int | None


class Hypothesis(AnswerType):
    """A component that may matter. `technique` is the number of a technique in the paper. `known` contains the numbers
    of switches and terms in the code that belong to it; `weight` is between 0 and 1."""

    name: str
    why: str
    places: tuple[PlaceNamed, ...]
    technique: int | None
    known: tuple[int, ...]
    weight: float


class Gap(AnswerType):
    name: str
    why: str


class Hypotheses(AnswerType):
    components: tuple[Hypothesis, ...]
    gaps: tuple[Gap, ...]


class Draft(AnswerType):
    kind: Kind
    baseline_value: str
    value: str
    description: str
    edits: tuple[FileEdit, ...]


class Drafts(AnswerType):
    candidates: tuple[Draft, ...]


class Mended(AnswerType):
    possible: bool
    why: str
    edits: tuple[FileEdit, ...]


class Change(AnswerType):
    component: int
    advice: str
    weight: float


class Reflection(AnswerType):
    lessons: tuple[str, ...]
    changes: tuple[Change, ...]


class Said(AnswerType):
    component: int
    text: str


class Words(AnswerType):
    strong: tuple[Said, ...]
    weak: tuple[Said, ...]
    caveats: tuple[str, ...]
