"""Asks a model to strengthen a test that passes but misses some changes to the code."""

import ast
from collections.abc import Iterator, Sequence

from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.checking.debug import ROUNDS, Debugged, Trial, ask_for_repair, debug
from xkg.build.guided.checking.edits import applied
from xkg.build.guided.checking.run_report import steady
from xkg.build.guided.draft import Draft
from xkg.build.similarity.operations import operations
from xkg.llm.client import Ask
from xkg.model import Evidence
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import Proof
from xkg.sandbox.evidence.mutation import STATEMENT_LEFT_OUT
from xkg.sandbox.evidence.own_statements import own_lines

_MOST_CHANGES = 12
_MOST_LINES = 12
_SLOW_SECONDS = 3.0


def strengthen(state: Debugged, trial: Trial, ask: Ask, *, rounds: int = ROUNDS) -> Debugged:
    """Returns the draft with a stronger test if that proves more, or else unchanged.

    Asks the model for a stronger test only if the current one proves nothing, or misses the removal of a statement that
    does more than convert a value.

    The model may add or strengthen assertions but not change the implementation. Debugs a failing new test in the
    remaining `rounds`, because the code or the test may be wrong. Sets `failed` if the model gives no usable answer."""
    draft = state.draft
    proven = state.proof.cause is Cause.PASSES and not _statements_left_out(draft.implementation, state.proof.evidence)
    if proven or state.proof.cause not in (Cause.PROVES_NOTHING, Cause.NOT_SETTLED, Cause.PASSES):
        return state
    found = [unnoticed(draft.implementation, state.proof.evidence)]
    if names := only_defaults(draft):
        found.append(f"- {', '.join(names)}: never given a value other than the default")
    inputs = {"definition": draft.text, "unnoticed": "\n".join(found)}
    before = state.failed
    state, answer = ask_for_repair(state, "strengthen", inputs, ask, test_alone=True)
    if answer is None and state.proof.cause is Cause.PASSES:
        # The test already passed, so a missing answer is not a failure.
        state = state.model_copy(update={"failed": before})
    if answer is None or not answer.edits:
        return state
    return better_of(state, debug(applied(draft, answer.edits), trial, ask, rounds=rounds - state.rounds))


def better_of(state: Debugged, after: Debugged) -> Debugged:
    """Returns the better of a draft and its revision. Combines their counts."""
    both = with_counts(state, after)
    if proof_rank(after.proof) > proof_rank(state.proof):
        return both
    return both.model_copy(update={name: getattr(state, name) for name in ("draft", "proof", "repairs", "stopped")})


def with_counts(state: Debugged, after: Debugged) -> Debugged:
    """Returns `after`, the result of changing `state` once, with the counts of both added up."""
    return after.model_copy(
        update={
            "first": state.first,
            "repairs": state.repairs + after.repairs + 1,
            "rounds": state.rounds + after.rounds,
            "refused": state.refused + after.refused,
            "failed": state.failed or after.failed,
        }
    )


def proof_rank(proof: Proof) -> tuple[int, float]:
    """Returns a sort key for proofs: the level, then the fraction of detected mutants."""
    return proof.evidence.level.rank, proof.evidence.mutation_score or 0.0


def _statements_left_out(implementation: str, evidence: Evidence) -> bool:
    """Returns whether an undetected mutant removes a statement. Ignores conversions such as `x = np.array(x)`, because
    a test that passes arrays cannot detect their removal."""
    lines = {s.line for s in evidence.survivors if s.change.endswith(STATEMENT_LEFT_OUT)}
    tree = parse_ast(implementation) if lines else None
    conversions = {
        node.lineno
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and not operations(node.value, ())
    }
    return not lines <= conversions


def only_defaults(draft: Draft) -> list[str]:
    """Returns the optional parameters of the draft's own public API that the test never sets. Each parameter is written
    as `function(parameter)`, in order."""
    module, test = parse_ast(draft.implementation), parse_ast(draft.test)
    if module is None or test is None:
        return []
    own = own_lines(draft.implementation, [component.implementation for component in draft.components])
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(test):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            calls.setdefault(name, []).append(node)
    found: list[str] = []
    for name, function, bound in _public_functions(module):
        if function.lineno not in own or name not in calls:
            continue
        positional = [*function.args.posonlyargs, *function.args.args][bound:]
        optional = [a.arg for a in positional[len(positional) - len(function.args.defaults) :]]
        optional += [a.arg for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d]
        order = [a.arg for a in positional]
        found += [f"{name}({each})" for each in optional if not any(_gives(call, each, order) for call in calls[name])]
    return found


def _public_functions(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef, int]]:
    """Yields each public function, with the name used to call it and its number of implicit arguments (`self`)."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node, 0
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and (inner.name == "__init__" or inner.name[:1] != "_"):
                    static = any(getattr(mark, "id", "") == "staticmethod" for mark in inner.decorator_list)
                    yield node.name if inner.name == "__init__" else inner.name, inner, 0 if static else 1


def _gives(call: ast.Call, parameter: str, order: Sequence[str]) -> bool:
    if any(keyword.arg in (parameter, None) for keyword in call.keywords):
        return True
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    return parameter in order and order.index(parameter) < len(call.args)


def unnoticed(implementation: str, evidence: Evidence) -> str:
    """Returns the changes that a test did not detect, one per line. Each line contains the affected code."""
    lines = implementation.splitlines()

    def code_line(number: int) -> str:
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    findings = [steady(evidence.reason or "the test proves too little")]
    if evidence.mutants is None and not evidence.survivors and (evidence.seconds or 0.0) > _SLOW_SECONDS:
        findings.append("- the test is so slow that too few changes to the code could be tried: make it much faster")
    for survivor in evidence.survivors[:_MOST_CHANGES]:
        findings.append(
            f"- line {survivor.line}, `{code_line(survivor.line)}`: {survivor.change}; the test still passed"
        )
    if len(evidence.survivors) > _MOST_CHANGES:
        findings.append(f"- and {len(evidence.survivors) - _MOST_CHANGES} more such changes")
    uncovered = evidence.uncovered_lines or ()
    for number in uncovered[:_MOST_LINES]:
        findings.append(f"- line {number}, `{code_line(number)}`, was never run")
    if len(uncovered) > _MOST_LINES:
        findings.append(f"- and {len(uncovered) - _MOST_LINES} more lines were never run")
    return "\n".join(findings)
