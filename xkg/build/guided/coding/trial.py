"""Runs drafts with the packages that they import, and stores each result before using it."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from xkg.build.guided.draft import Draft
from xkg.build.package_versions import Make, failed_in_package, other_versions
from xkg.build.slicing.scoping.imported_names import imported_packages
from xkg.build.stored_proofs import stored_proof
from xkg.model import Code, Level, code_id
from xkg.sandbox.diagnosis.completion import Completion
from xkg.sandbox.evidence.levels import Proof, prove
from xkg.sandbox.evidence.run_slots import slots_for
from xkg.sandbox.packages.disk_quota import in_use
from xkg.sandbox.runner import Environment, Limits, Runner

_Versions = tuple[Sequence[str], str | None]


class Trials:
    """Runs drafts for one paper, at most `slots` at a time, cheapest first. Thread-safe. A draft always gets the same
    proof, even in later builds, unless its run was killed or timed out.

    `make` finds packages for the imports in the code and test, and for `base`, the imports in the paper's code. Most
    drafts thus share an environment, which `installed` returns.

    Of several sets of package versions, uses the first with the most successful `base` imports, and tries the others if
    a run fails inside a package.

    `final` becomes False if another run may reach a higher level, for example because a registry was down. Raises the
    same errors as the runner and `make`. Raises `StoreError` if `folder` cannot be written."""

    def __init__(
        self,
        folder: Path,
        runner: Runner,
        limits: Limits,
        make: Make,
        requirements: Sequence[str],
        written: str | None,
        base: Mapping[str, Sequence[str]],
    ) -> None:
        self.final = True
        self.slots = slots_for(limits)
        self.environments: dict[str, Environment] = {}
        self._folder = folder
        self._runner = runner
        self._limits = limits
        self._make = make
        self._requirements = requirements
        self._written = written
        self._base = base
        self._making = threading.Lock()
        self._choosing = threading.Lock()
        self._ordered: list[_Versions] | None = None

    def __call__(self, draft: Draft) -> Proof:
        """Returns the proof of the highest level reached by a draft."""
        code = node(draft)
        proven = tuple(sorted(c.implementation for c in draft.components if c.proven))
        best: Proof | None = None
        for lines, day, environment in self._environments(code):
            proof, environment = self._completed(code, proven, environment, lines, day)
            if best is None or proof.evidence.level.rank > best.evidence.level.rank:
                best = proof
            ran = code.model_copy(update={"level": proof.evidence.level, "evidence": (proof.evidence,)})
            if environment.incomplete or not failed_in_package(ran, environment):
                break
        assert best is not None
        return self._with_distributions(best, code)

    def _completed(
        self, code: Code, proven: Sequence[str], environment: Environment, lines: Sequence[str], day: str | None
    ) -> tuple[Proof, Environment]:
        """Returns the proof and its environment. If the code needs further modules at run time, adds them to the
        environment."""

        def make(modules: Sequence[str]) -> Environment:
            return self._made({**dict.fromkeys(modules, ()), **self._imports(code)}, lines, day)

        completion = Completion(make)
        while True:
            proof = self._cached_proof(code, proven, environment)
            failed = proof.evidence.exit_code not in (0, None)
            completed = completion.after(proof.evidence.output_end, environment) if failed else None
            if completed is None:
                return proof, environment
            environment = completed

    def installed(self) -> Environment:
        """Returns the environment for the paper's code, in which most drafts run."""
        lines, day = self._versions()[0]
        with self._making:
            return self._make(self._base, lines, day)

    def _versions(self) -> list[_Versions]:
        """Returns the sets of requirement lines in the order in which drafts try them. Each set has a date."""
        with self._choosing:
            if self._ordered is None:
                self._ordered = self._by_imports()
            return self._ordered

    def _by_imports(self) -> list[_Versions]:
        others = other_versions(self._requirements, self._written)
        versions: list[_Versions] = [(self._requirements, self._written), *((lines, day) for lines, day, _ in others)]
        if not self._base or len(versions) == 1:
            return versions
        best, fewest = 0, len(self._base) + 1
        for i, (lines, day) in enumerate(versions):
            with self._making:
                environment = self._make(self._base, lines, day)
            if environment.site is None:
                if i:
                    continue
                break
            broken = [name for name in self._base if name in environment.provided]
            broken = (
                [] if self._import(broken, environment) else [n for n in broken if not self._import([n], environment)]
            )
            unusable = len(broken) + sum(name not in environment.provided for name in self._base)
            if unusable < fewest:
                best, fewest = i, unusable
            if not broken or environment.incomplete:
                break
        return [versions[best], *versions[:best], *versions[best + 1 :]]

    def _import(self, packages: Sequence[str], environment: Environment) -> bool:
        """Returns whether these packages can be imported together."""
        source = "".join(f"import {name}\n" for name in packages)
        code = Code(id=code_id("", source, ""), technique="", implementation=source, test="", documentation="")
        return self._cached_proof(code, (), environment).evidence.level.rank >= Level.IMPORTED.rank

    def _with_distributions(self, proof: Proof, code: Code) -> Proof:
        environment = self.environments.get(proof.evidence.environment or "")
        if environment is None:
            return proof
        evidence = proof.evidence.model_copy(update={"distributions": environment.providers(code.packages)})
        return proof.model_copy(update={"evidence": evidence})

    def _made(self, imports: Mapping[str, Sequence[str]], lines: Sequence[str], day: str | None) -> Environment:
        with self._making:
            environment = self._make(imports, lines, day)
            self.environments[environment.hash] = environment
            self.final = self.final and not environment.incomplete
        return environment

    def _environments(self, code: Code) -> Iterator[tuple[Sequence[str], str | None, Environment]]:
        tried: set[str] = set()
        for lines, day in self._versions():
            environment = self._made(self._imports(code), lines, day)
            if environment.hash not in tried and (not tried or environment.site is not None):
                tried.add(environment.hash)
                yield lines, day, environment

    def _imports(self, code: Code) -> dict[str, Sequence[str]]:
        own = imported_packages((code.implementation, code.test))
        return {**self._base, **{name: tuple(sorted({*self._base.get(name, ()), *own[name]})) for name in own}}

    def _cached_proof(self, code: Code, components: Sequence[str], environment: Environment) -> Proof:
        def run() -> Proof:
            with in_use(environment):
                return prove(code, self._runner, environment, self._limits, components=components, slots=self.slots)

        return stored_proof(self._folder, "run", code, components, environment, self._runner, self._limits, run)


def node(draft: Draft) -> Code:
    """Returns the code node for a draft. The node does not contain a level yet."""
    return Code(
        id=code_id(draft.technique, draft.implementation, draft.test),
        technique=draft.technique,
        implementation=draft.implementation,
        test=draft.test,
        documentation=draft.documentation,
        packages=tuple(sorted(imported_packages((draft.implementation,)))),
    )
