"""Drafts of code, and the prompts of the guided stages."""

from pathlib import Path

from xkg.llm.prompt import Prompt, load_prompt
from xkg.value import Value

PROMPTS = Path(__file__).parent / "prompts"


def prompt(name: str) -> Prompt:
    """The prompt of that name. Raises `XkgError` for a malformed file."""
    return load_prompt(PROMPTS / f"{name}.md")


class Draft(Value):
    """A candidate code node: a self-contained module, the test script that imports it as `implementation`, and its
    documentation. `technique` and `name` are the technique's id and name; `sources` are the ids of the symbols whose
    statements or names it has, `excerpt` the source lines that the model saw, `configuration` the values that these
    lines read from their repository's configuration, with the files."""

    technique: str
    name: str
    implementation: str
    test: str
    documentation: str
    sources: tuple[str, ...]
    excerpt: str
    configuration: str = ""
