"""Defines drafts of code and loads the prompts for the guided stages."""

import ast
from collections.abc import Collection, Mapping
from pathlib import Path

from xkg.build.code.languages.python import parse_ast
from xkg.build.similarity.fidelity import Scope
from xkg.build.slicing.compose import Part
from xkg.llm.prompt import Prompt, load_prompt
from xkg.sandbox.evidence.own_statements import component_calls, own_lines
from xkg.value import Value

PROMPTS = Path(__file__).parent / "prompts"


def prompt(name: str) -> Prompt:
    """Returns the prompt with this name. Raises `XkgError` if the prompt's file is malformed."""
    return load_prompt(PROMPTS / f"{name}.md")


class UsedComponent(Value):
    """A component that a draft's module includes or could include. `proven` is True if its own test proves the code.
    `sources` lists the symbols that it was made from."""

    name: str
    implementation: str
    proven: bool
    sources: tuple[str, ...] = ()

    @property
    def part(self) -> Part:
        return Part(self.name, self.implementation)


class Draft(Value):
    """A candidate code node. Contains a self-contained module, a test script that imports it as `implementation`, and
    documentation. `technique` and `name` are the technique's id and name. `sources` lists the symbols whose statements
    or names the module contains. `excerpt` contains the lines that the model saw, including lines that it requested.

    The module includes the code of `components`. `own_excerpt`, the start of `excerpt`, contains the lines from which
    the module's own code was written. It is empty if these lines are the whole excerpt. `uncalled` lists components
    that the module does not call, and `ready` contains their code. `absent` lists the components without code.

    `definition` is the technique's definition, without its name. `declared` contains the author's remarks on statements
    that the module does not simply copy from its source lines. It is empty if the module was repaired later.
    `by_definition` maps functions and classes written from the definition alone to the numbers of the definition's
    statements.

    `looked` contains the lines that the author or a review requested, and `opened` contains the ids of the symbols in
    these lines. `searched` is True if the author or a review searched the repository."""

    technique: str
    name: str
    implementation: str
    test: str
    documentation: str
    sources: tuple[str, ...]
    excerpt: str
    own_excerpt: str = ""
    components: tuple[UsedComponent, ...] = ()
    uncalled: tuple[str, ...] = ()
    ready: tuple[UsedComponent, ...] = ()
    absent: tuple[str, ...] = ()
    definition: str = ""
    declared: tuple[str, ...] = ()
    by_definition: Mapping[str, tuple[int, ...]] = {}
    looked: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    searched: bool = False

    @property
    def text(self) -> str:
        """Returns the technique's name and definition."""
        return f"{self.name}. {self.definition}"

    @property
    def scope(self) -> Scope:
        """Returns the part of the module that is checked for fidelity (without component code), and the lines that it
        was written from."""
        components = [component.implementation for component in self.components]
        lines = own_lines(self.implementation, components)
        calls = component_calls(self.implementation, components) & lines
        written = self._lines_of(self.by_definition) & lines
        return Scope(lines, (self.own_excerpt or self.excerpt).count("\n") + 1, calls, written)

    def _lines_of(self, names: Collection[str]) -> frozenset[int]:
        """Returns the line numbers of the module's functions and classes with these names."""
        tree = parse_ast(self.implementation) if names else None
        return frozenset(
            line
            for node in (tree.body if tree is not None else ())
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        )
