from evaluation.executability.figures import claims_of, figures_of
from xkg.build.verify import NodeResult
from xkg.model import Code, Evidence, Level, Paper, PaperBundle
from xkg.sandbox.evidence.failure_causes import Cause


def result(code: str, level: Level, cause: Cause, before: Level = Level.PARSED) -> NodeResult:
    return NodeResult(code=code, before=before, evidence=Evidence(level=level), cause=cause)


RESULTS = [
    result("title:a#x@1", Level.TESTED, Cause.PASSES),
    result("title:a#y@2", Level.EXECUTED, Cause.PROVES_NOTHING),
    result("title:b#z@3", Level.IMPORTED, Cause.OWN_BUG),
    result("title:b#u@4", Level.PARSED, Cause.MISSING_PACKAGE),
]


def bundle(origin: str, *codes: Code) -> PaperBundle:
    return PaperBundle(paper=Paper(id="title:a", title="A", origin=origin), code=codes)


def test_shares_of_four_nodes() -> None:
    claims = dict.fromkeys((r.code for r in RESULTS[:3]), Level.EXECUTED) | {"title:b#u@4": None}
    values = {figure.name: (figure.value, figure.count) for figure in figures_of(RESULTS, claims)}
    assert values == {
        "exits 0": (0.5, 4),
        "exits 0, of what could run here": (2 / 3, 3),
        "test can fail": (0.25, 4),
        "claim holds": (2 / 3, 3),
        "cause: passes": (0.25, 4),
        "cause: test proves nothing": (0.25, 4),
        "cause: own bug": (0.25, 4),
        "cause: missing package": (0.25, 4),
    }


def test_a_file_claims_what_it_says_and_a_build_its_level() -> None:
    told = Code(id="title:a#x@1", technique="title:a#x", implementation="", claims={"pass_exec": True})
    denied = Code(id="title:a#y@1", technique="title:a#y", implementation="", claims={"pass_exec": False})
    proven = Code(id="title:a#z@1", technique="title:a#z", implementation="", level=Level.TESTED)
    assert claims_of([bundle("import", told, denied)]) == {told.id: Level.EXECUTED, denied.id: None}
    assert claims_of([bundle("build", proven)]) == {proven.id: Level.TESTED}
