from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.build.guided.quick_runner import QuickRunner
from tests.sandbox.evidence.test_levels import OF_WHOLE, PART, WHOLE
from xkg.build.verify import NodeResult, apply, environments_for, forget, newer_evidence, verify
from xkg.model import Code, Evidence, Fault, Fidelity, Level, Paper, PaperBundle, Repository, Technique, code_id
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.runner import Environment, Job, Limits, Outcome

LIMITS = Limits(seconds=5)


def bundle(paper: str, *sources: str, test: str = "print(1)\n") -> PaperBundle:
    names = [f"{paper}#t{n}" for n in range(len(sources))]
    return PaperBundle(
        paper=Paper(id=paper, title=paper, origin="import"),
        techniques=tuple(Technique(id=name, name=name) for name in names),
        code=tuple(
            Code(id=code_id(name, source, test), technique=name, implementation=source, test=test)
            for name, source in zip(names, sources, strict=True)
        ),
    )


class Scripted:
    """Runs nothing. The implementation's text says how its run ends."""

    name = "scripted"

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, job: Job) -> Outcome:
        source = job.files["implementation.py"]
        self.ran.append(source)
        if "interrupt" in source:
            raise KeyboardInterrupt
        well = "fails" not in source and "dies" not in source
        return Outcome(
            ended="killed" if "dies" in source else "exited",
            exit_code=137 if "dies" in source else int(not well),
            output=f"{job.files['imported']}\n" + (f"{job.files['ended']} []\n" if well else "KeyError: 'x'\n"),
            seconds=0.1,
            peak_memory_mb=1,
            runner=self.name,
            command="python harness.py",
        )


class Registry:
    """Offers `numpy`, `torch` and `jax`, but not `torch` and `jax` together."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, ...]] = []
        self.added: list[tuple[str, ...]] = []

    def make(
        self,
        imports: Sequence[str] | Mapping[str, Sequence[str]],
        requirements: Sequence[str] = (),  # noqa: ARG002
        written: str | None = None,  # noqa: ARG002
        declared: Sequence[str] = (),
    ) -> Environment:
        self.added.append(tuple(declared))
        self.requests.append(tuple(sorted(imports)))
        missing = {name: "no wheel" for name in imports if name not in ("numpy", "torch", "jax")}
        if {"torch", "jax"} <= set(imports):
            missing["jax"] = "does not go together with torch"
        return Environment(site=None, hash="-".join(sorted(set(imports) - missing.keys())), missing=missing)

    def again(self, digest: str) -> Environment | None:
        return Environment(site=None, hash=digest, missing={"lost": "no wheel"}) if digest == "numpy-old" else None


def test_nodes_get_the_level_that_holds_and_the_others_go_on(tmp_path: Path) -> None:
    papers = [bundle("p", "x = 1\n", "fails = 1\n"), bundle("q", "dies = 1\n", "y = (\n")]
    heard: list[str] = []
    results = verify(papers, tmp_path, Scripted(), None, LIMITS, jobs=2, notify=lambda r: heard.append(r.code))
    assert [(r.level, r.cause) for r in results] == [
        (Level.EXECUTED, Cause.PROVES_NOTHING),
        (Level.IMPORTED, Cause.OWN_BUG),
        (Level.IMPORTED, Cause.KILLED),
        (Level.NONE, Cause.OWN_BUG),
    ]
    assert [r.code for r in results] == [code.id for paper in papers for code in paper.code]
    assert sorted(heard) == sorted(r.code for r in results)


def test_what_was_finished_before_a_kill_is_not_run_again(tmp_path: Path) -> None:
    paper = bundle("p", "x = 1\n", "dies = 1\n", "interrupt = 1\n")
    with pytest.raises(KeyboardInterrupt):
        verify([paper], tmp_path, Scripted(), None, LIMITS)
    again = Scripted()
    finished = paper.model_copy(update={"code": paper.code[:2]})
    results = verify([finished], tmp_path, again, None, LIMITS)
    assert again.ran == ["dies = 1\n"], "a run that was killed is tried again, one that ended is not"
    assert [r.cause for r in results] == [Cause.PROVES_NOTHING, Cause.KILLED]
    other_limits = Scripted()
    verify([finished], tmp_path, other_limits, None, Limits(seconds=6))
    assert len(other_limits.ran) == 2
    forget(tmp_path, [code.id for code in paper.code])
    verify([finished], tmp_path, again, None, LIMITS)
    assert again.ran.count("x = 1\n") == 1


def test_what_is_not_settled_keeps_its_level_and_says_so(tmp_path: Path) -> None:
    class Stalled(Scripted):
        def run(self, job: Job) -> Outcome:
            outcome = super().run(job)
            late = outcome.model_copy(update={"ended": "timeout", "exit_code": None})
            return outcome if len(self.ran) == 1 else late

    (code,) = bundle("p", "def f():\n    return 1\n", test="assert f() == 1\n").code
    held = Evidence(level=Level.TESTED, runner="any", mutants=9, checked_at="2026-01-01T00:00:00+00:00")
    for level, evidence, now in ((Level.TESTED, (held,), Level.TESTED), (Level.PARSED, (), Level.EXECUTED)):
        node = code.model_copy(update={"level": level, "evidence": evidence})
        paper = bundle("p", code.implementation).model_copy(update={"code": (node,)})
        stalled = Stalled()
        (result,) = verify([paper], tmp_path, stalled, None, LIMITS)
        assert (result.level, result.cause) == (now, Cause.NOT_SETTLED)
        assert result.evidence.reason is not None
        assert result.evidence.reason.startswith("it is not known whether the test can fail")
        assert len(stalled.ran) == 2, "what was not settled is tried again"


def test_what_a_verification_found_outlives_a_build_of_the_same_code() -> None:
    built = bundle("p", "x = 1\n", "y = 1\n")
    early = Evidence(level=Level.IMPORTED, checked_at="2026-01-01T00:00:00+00:00")
    built = apply(built, {code.id: early for code in built.code}, None)
    late = Evidence(level=Level.PARSED, checked_at="2026-02-01T00:00:00+00:00", reason="KeyError")
    verified = apply(built, {built.code[0].id: late}, None)
    assert newer_evidence(verified, built) == {built.code[0].id: late}
    assert apply(built, newer_evidence(verified, built), None) == verified
    assert newer_evidence(built, verified) == {}


def test_built_techniques_are_visible_or_hidden_by_their_present_level() -> None:
    imported = bundle("p", "x = 1\n", "y = 1\n")
    paper = imported.paper.model_copy(update={"origin": "build"})
    repository = Repository(id="local:r@1", url="r")
    built = imported.model_copy(update={"paper": paper, "repositories": (repository,)})
    levels = (Level.EXECUTED, Level.PARSED)
    results = {c.id: Evidence(level=level, runner="any") for c, level in zip(built.code, levels, strict=True)}
    hidden_reasons = [technique.hidden for technique in apply(built, results, None).techniques]
    assert hidden_reasons == [None, "its code is at 'parsed', below 'executed'"]
    strict = apply(built, results, Level.TESTED)
    assert all(technique.hidden for technique in strict.techniques)
    assert [technique.hidden for technique in apply(strict, results, Level.PARSED).techniques] == [None, None]


def environments(papers: Sequence[PaperBundle], registry: Registry) -> dict[str, list[Environment]]:
    found = environments_for(papers, registry)
    return {paper.paper.id: [found[code.id] for code in paper.code] for paper in papers}


def test_papers_share_an_environment_unless_their_packages_do_not_go_together() -> None:
    registry = Registry()
    papers = [bundle("n", "import numpy\n"), bundle("t", "import torch\nimport lost\n"), bundle("j", "import jax\n")]
    found = environments(papers, registry)
    assert {p: [e.hash for e in made] for p, made in found.items()} == {
        "n": ["numpy-torch"],
        "t": ["numpy-torch"],
        "j": ["jax"],
    }
    assert set(found["t"][0].missing) == {"jax", "lost"}
    assert ("lost", "torch") not in registry.requests, "an environment that misses the same is not made"


def test_one_environment_where_nothing_is_missing_and_none_without_a_maker() -> None:
    registry = Registry()
    papers = [bundle("n", "import numpy\n"), bundle("t", "x = 1\n", test="import torch, json, implementation\n")]
    found = environments_for(papers, registry)
    assert registry.requests == [("numpy", "torch")]
    assert {e.hash for e in found.values()} == {"numpy-torch"}
    assert {e.site for e in environments_for(papers, None).values()} == {None}


def test_a_paper_keeps_the_packages_that_were_asked_for_it() -> None:
    paper = bundle("n", "import numpy\n")
    ran = Evidence(level=Level.IMPORTED, runner="r", environment="numpy-old")
    code = paper.code[0].model_copy(update={"level": ran.level, "evidence": (ran,)})
    kept = paper.paper.model_copy(update={"packages": ("jax",), "cpu": True})
    asked = paper.model_copy(update={"code": (code,), "paper": kept})
    registry = Registry()
    [environment] = environments([asked], registry)["n"]
    assert environment.hash == "numpy"  # not the environment of the last run, which lacks a package
    assert environment.cpu
    assert registry.added == [(), ("jax",)]


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence(level=Level.IMPORTED, runner="r", environment="numpy-old"), "numpy-old"),
        (Evidence(level=Level.PARSED, runner="r", environment="numpy-old", missing=("numpy",)), "numpy-old"),
        (Evidence(level=Level.PARSED, runner="r", environment="numpy-old", missing=("lost",)), "numpy"),
        (Evidence(level=Level.PARSED, environment="numpy-old", missing=("numpy",)), "numpy"),
        (Evidence(level=Level.IMPORTED, runner="r", environment="numpy-gone"), "numpy"),
    ],
)
def test_a_node_that_has_run_gets_the_packages_it_ran_with(evidence: Evidence, expected: str) -> None:
    paper = bundle("n", "import numpy\n", "import numpy as np\n")
    first = paper.code[0].model_copy(update={"level": evidence.level, "evidence": (evidence,)})
    again = paper.model_copy(update={"code": (first, paper.code[1])})
    assert [e.hash for e in environments([again], Registry())["n"]] == [expected, "numpy"]


def test_only_packages_for_nodes_without_an_environment_are_installed() -> None:
    registry = Registry()
    ran = Evidence(level=Level.IMPORTED, runner="r", environment="numpy-old")
    mixed, plain = bundle("n", "import numpy\n", "import json\n"), bundle("p", "import json\n")
    first = mixed.code[0].model_copy(update={"level": ran.level, "evidence": (ran,)})
    found = environments([mixed.model_copy(update={"code": (first, mixed.code[1])}), plain], registry)
    assert registry.requests == [()]
    assert {paper: [e.hash for e in made] for paper, made in found.items()} == {"n": ["numpy-old", ""], "p": [""]}


def test_no_id_reaches_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    folder = tmp_path / "a/b/c"
    paper = bundle("../kept", "x = 1\n")
    hostile = paper.model_copy(update={"code": (paper.code[0].model_copy(update={"id": "../kept#t@../../../kept"}),)})
    verify([hostile], folder, Scripted(), None, LIMITS)
    forget(folder, [hostile.code[0].id])
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == [
        *("a", "a/b", "a/b/c", "kept")
    ]


def test_faithful_code_whose_test_still_proves_it_stays_faithful(tmp_path: Path) -> None:
    implementation = "def double(x: float) -> float:\n    return 2 * x\n"
    test = "from implementation import double\n\nassert double(3) == 6\nassert double(-1) == -2\n"
    paper = bundle("p", implementation)
    met, wanting = Fidelity(share=0.9, faults=()), Fidelity(share=0.9, faults=(Fault(kind="beyond", remark="more"),))

    def again(fidelity: Fidelity, script: str) -> Evidence:
        before = Evidence(level=Level.FAITHFUL, fidelity=fidelity, repairs=2, reason="not faithful: beyond, more")
        node = paper.code[0].model_copy(update={"test": script, "evidence": (before,)})
        node = node.model_copy(update={"id": code_id(node.technique, implementation, script)})
        given = paper.model_copy(update={"code": (node,)})
        (result,) = verify([given], tmp_path / str(hash(fidelity)), BubblewrapRunner(), None, LIMITS)
        return result.evidence

    proven = again(met, test)
    assert (proven.level, proven.fidelity, proven.repairs, proven.reason) == (Level.FAITHFUL, met, 2, None)
    assert again(wanting, test).level is Level.TESTED
    assert again(wanting, test).reason == "not faithful: beyond, more"
    assert again(met, "from implementation import double\n\nassert double(3) == 7\n").level is Level.IMPORTED


OF_PART = "assert clipped([9.5, -8.5, 1.5, 3.0]) == [3.0, -6.0, 1.5, 3.0]\nassert clipped([-5.5], 2.5) == [-5.0]\n"


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_composite_follows_its_components_and_is_judged_on_what_is_its_own(tmp_path: Path, jobs: int) -> None:
    first_own = PART.count("\n") + 1
    for test, proven in ((OF_PART, True), ("assert len(clipped([9.0])) == 1\n", False)):
        made = PaperBundle(
            paper=Paper(id="p", title="p", origin="build"),
            techniques=(Technique(id="p#w", name="w"), Technique(id="p#w/c", name="c", parent="p#w")),
            code=(
                Code(id=code_id("p#w", WHOLE, OF_WHOLE), technique="p#w", implementation=WHOLE, test=OF_WHOLE),
                Code(id=code_id("p#w/c", PART, test), technique="p#w/c", implementation=PART, test=test),
            ),
        )
        heard: list[NodeResult] = []
        folder = tmp_path / str(proven)
        whole, part = verify([made], folder, QuickRunner(), None, LIMITS, jobs=jobs, notify=heard.append)
        assert heard == [part, whole]
        assert (part.level is Level.TESTED) == proven
        assert all(survivor.line > first_own for survivor in whole.evidence.survivors) == proven
        assert whole.evidence.mutants is not None
        assert (whole.evidence.mutants < 10) == proven
