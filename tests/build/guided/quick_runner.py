"""Provides a `Runner` that runs the tests' own code in this process, which takes milliseconds."""

import traceback
from types import ModuleType

from xkg.build.guided.coding.trial import node
from xkg.build.guided.draft import Draft
from xkg.sandbox.evidence.levels import Proof, prove
from xkg.sandbox.evidence.mutation import body_lines
from xkg.sandbox.evidence.python_ast import silently
from xkg.sandbox.runner import Environment, Job, Limits, Outcome


class QuickRunner:
    """Imitates the sandbox's harness without a sandbox. If lines are requested, every line counts as executed."""

    name = "quick"
    weaker: tuple[str, ...] = ("contains nothing",)

    def run(self, job: Job) -> Outcome:
        implementation, test = job.files["loaded.py"], job.files["test.py"]
        module = ModuleType("implementation")
        output: list[str] = []
        code = 0
        try:
            exec(compile(implementation, "/box/implementation.py", "exec", dont_inherit=True), module.__dict__)
            output.append(job.files["imported"])
            module.__name__ = "__main__"
            test = test.replace("from implementation import", "#")
            exec(compile(test, "/box/test.py", "exec", dont_inherit=True), module.__dict__)
            output.append(f"{job.files['ended']} {sorted(body_lines(implementation))}")
        except Exception:
            code = 1
            with silently():  # the harness parses the lines that it prints
                output.append(traceback.format_exc())
        return Outcome(
            ended="exited",
            exit_code=code,
            output="\n".join(output),
            seconds=0.01,
            peak_memory_mb=1.0,
            runner=self.name,
            command="quick",
        )


def quickly(draft: Draft) -> Proof:
    """Runs a `Trial` with the quick runner."""
    proven = [c.implementation for c in draft.components if c.proven]
    return prove(node(draft), QuickRunner(), Environment(site=None, hash="0" * 16), Limits(), components=proven)
