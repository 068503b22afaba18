"""The stages of a build that a language model guides. Each has its static ground floor in `xkg.build`."""

from pathlib import Path

from xkg.llm.prompt import Prompt, load_prompt
from xkg.value import Value

PROMPTS = Path(__file__).parent / "prompts"


def prompt(name: str) -> Prompt:
    """The prompt of that name. Raises `XkgError` for a file that is none: a fault of xkg."""
    return load_prompt(PROMPTS / f"{name}.md")


class Draft(Value):
    """A candidate code node: one self-contained module, the test script that imports it as `implementation`, and what
    was written about it. `technique` is the id of what it does, and `name` how that is called; `sources` are ids of the
    symbols it was made from, `excerpt` the source lines of these, as the model saw them."""

    technique: str
    name: str
    implementation: str
    test: str
    documentation: str
    sources: tuple[str, ...]
    excerpt: str
