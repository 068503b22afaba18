"""Provides a small graph with four papers, two repositories, citations and shared concepts.

flows      Kernel flow                 2023, complete, $1.25; cites amortised, Adam, SVGD
             RBF kernel                tested; in two files
             Particle step             executed
               Warm-up
amortised  Amortised flow              2023, complete, $0.50; cites Adam, SVGD
             Gaussian kernel           faithful; the concept of RBF kernel
warm-up    Linear warm-up              2024, partial, $0.25; cites flows, amortised, Adam; the concept of Warm-up
loose      Drift                       imported; nothing joins it to the others
"""

from collections.abc import Iterable

from xkg.model import (
    Ablation,
    Code,
    Derivation,
    Finding,
    Level,
    Location,
    Paper,
    PaperBundle,
    Reference,
    Repository,
    Resource,
    Symbol,
    Technique,
    ablation_id,
    code_id,
    symbol_id,
)
from xkg.store.concepts.decisions import judged, text_hash
from xkg.store.graph_store import Decision

FLOWS, AMORTISED = "arxiv:2301.00001", "arxiv:2302.00002"
WARM_UP, LOOSE = "title:notes-on-warm-up", "doi:10.1/loose"
ADAM, SVGD = "arxiv:1412.6980", "arxiv:1608.04471"

FLOW = f"{FLOWS}#kernel-flow"
KERNEL, STEP, WARM = f"{FLOW}/rbf-kernel", f"{FLOW}/particle-step", f"{FLOW}/particle-step/warm-up"
AMORTISED_FLOW = f"{AMORTISED}#amortised-flow"
GAUSSIAN = f"{AMORTISED_FLOW}/gaussian-kernel"
LINEAR = f"{WARM_UP}#linear-warm-up"
DRIFT = f"{LOOSE}#drift"

OFFICIAL = Repository(
    id="github.com/o/flows@aaa", url="https://github.com/o/flows", commit="aaa", license="MIT", is_official=True,
    stars=12, archived=True, default_branch="trunk",
)  # fmt: skip
OTHER = Repository(id="github.com/p/amortised@bbb", url="https://github.com/p/amortised", commit="bbb")


def bundles() -> list[PaperBundle]:
    rbf, train = _symbol(OFFICIAL, "flows/kernels.py", "rbf", 3), _symbol(OFFICIAL, "flows/train.py", "step", 10)
    encode = _symbol(OTHER, "encode.py", "encode", 1)
    kernel, step = _code(KERNEL, Level.TESTED, "numpy", "torch"), _code(STEP, Level.EXECUTED, "torch")
    amortised, gaussian = _code(AMORTISED_FLOW, Level.EXECUTED, "Torch"), _code(GAUSSIAN, Level.FAITHFUL, "numpy")
    return [
        PaperBundle(
            paper=Paper(
                id=FLOWS,
                title="Stochastic kernel flows",
                authors=("Ada Stein", "Bo Li"),
                year=2023,
                arxiv_id="2301.00001",
                references=(_reference(AMORTISED), _reference(ADAM), _reference(SVGD)),
                origin="build",
                built_at="2026-09-03T10:00:00Z",
                cost_usd=1.25,
            ),
            techniques=(
                _technique(FLOW, "Kernel flow", kind="methodology", definition="Particles flow along a kernel."),
                _technique(KERNEL, "RBF kernel", aliases=("Radial basis function", "RBF"), grounding="located"),
                _technique(STEP, "Particle step", grounding="located", weight=0.75),
                _technique(WARM, "Warm-up", weight=0.5, definition="The step size grows."),
                _technique(f"{FLOW}/plots", "Plots", hidden="no code was found for it"),
            ),
            code=(kernel, step),
            repositories=(OFFICIAL,),
            symbols=(rbf, train),
            locations=(
                Location(technique=KERNEL, symbol=rbf.id, score=0.9, rank=1),
                Location(technique=KERNEL, symbol=train.id, score=0.4, rank=2, doubtful=True),
                Location(technique=STEP, symbol=train.id, score=0.8, rank=1),
            ),
            derivations=(
                Derivation(code=kernel.id, symbol=rbf.id),
                Derivation(code=step.id, symbol=rbf.id),
                Derivation(code=step.id, symbol=train.id),
            ),
            findings=(
                Finding(id=f"{FLOWS}#finding/1", name="Kernels", description="The radial basis function wins."),
                Finding(id=f"{FLOWS}#finding/2", name="Every particle step counts"),
            ),
            resources=(Resource(id=f"{FLOWS}#resource/1", name="Flow data set", description="10,000 flows"),),
        ),
        PaperBundle(
            paper=Paper(
                id=AMORTISED,
                title="Amortised flows",
                year=2023,
                arxiv_id="2302.00002",
                references=(_reference(ADAM), _reference(SVGD)),
                origin="build",
                built_at="2026-09-20T10:00:00Z",
                cost_usd=0.5,
            ),
            techniques=(
                _technique(AMORTISED_FLOW, "Amortised flow", kind="methodology"),
                _technique(GAUSSIAN, "Gaussian kernel", aliases=("RBF kernel",)),
            ),
            code=(amortised, gaussian),
            repositories=(OTHER,),
            symbols=(encode,),
            derivations=(Derivation(code=amortised.id, symbol=encode.id),),
        ),
        PaperBundle(
            paper=Paper(
                id=WARM_UP,
                title="Notes on warm-up",
                year=2024,
                references=(_reference(FLOWS), _reference(AMORTISED), _reference(ADAM)),
                origin="build",
                state="partial",
                incomplete=("two definitions are missing", "the budget is spent"),
                nothing_in=("We thank the reviewers.", "flows/io.py::save"),
                built_at="2026-10-01T10:00:00Z",
                cost_usd=0.25,
            ),
            techniques=(_technique(LINEAR, "Linear warm-up"),),
            code=(_code(LINEAR, Level.PARSED),),
            findings=(Finding(id=f"{WARM_UP}#finding/1", name="Linear warm-up is enough"),),
        ),
        PaperBundle(
            paper=Paper(id=LOOSE, title="Éclats: loose ends", origin="import"),
            techniques=(_technique(DRIFT, "Drift"),),
        ),
    ]


def decisions() -> list[Decision]:
    """Returns the decisions that make these techniques shared concepts."""
    techniques = {t.id: t for bundle in bundles() for t in bundle.techniques}
    return [
        Decision(
            first=first,
            second=second,
            judged=judged(text_hash(techniques[first]), text_hash(techniques[second])),
            relation="same",
            by="test",
        )
        for first, second in ((KERNEL, GAUSSIAN), (WARM, LINEAR))
    ]


def ablations() -> list[Ablation]:
    """Returns the measured importance of two techniques. The importance of the kernel was measured only once."""
    return [
        _ablation(FLOW, "the term repulsion → off", change=0.5, low=0.4, high=0.6, seeds=3),
        _ablation(FLOW, "scale: 1.0 → 0.5", change=-0.02, low=-0.04, high=0.0, seeds=3),
        _ablation(KERNEL, "the call kernel → off", change=-0.75, low=None, high=None, seeds=1),
    ]


def _ablation(
    technique: str, description: str, *, change: float, low: float | None, high: float | None, seeds: int
) -> Ablation:
    diff = f"--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-{description}\n+pass\n"
    return Ablation(
        id=ablation_id(technique, "c0ffee", diff, "python train.py", "loss"), technique=technique, metric="loss",
        direction="min", baseline=2.0, value=2.0 * (1 + change), change=change, low=low, high=high, seeds=seeds,
        kind="toggle", description=description, diff=diff, commit="c0ffee", command="python train.py",
        measured_at="2026-01-02T03:04:05+00:00",
    )  # fmt: skip


def code_of(technique: str, of: Iterable[PaperBundle]) -> str:
    return next(code.id for bundle in of for code in bundle.code if code.technique == technique)


def _technique(id: str, name: str, **fields: object) -> Technique:
    parent = id.rpartition("/")[0] if "/" in id.partition("#")[2] else None
    return Technique(id=id, name=name, parent=parent, depth=id.partition("#")[2].count("/"), **fields)  # type: ignore[arg-type]


def _code(technique: str, level: Level, *packages: str) -> Code:
    implementation, test = f"def run():\n    return {technique!r}\n", "assert run()\n"
    return Code(
        id=code_id(technique, implementation, test),
        technique=technique,
        implementation=implementation,
        test=test,
        packages=packages,
        level=level,
    )


def _symbol(repository: Repository, path: str, name: str, line: int) -> Symbol:
    return Symbol(
        id=symbol_id(repository.id, path, name),
        repository=repository.id,
        path=path,
        qualified_name=name,
        kind="function",
        start_line=line,
        end_line=line + 5,
    )


def _reference(arxiv: str) -> Reference:
    return Reference(title=f"The paper {arxiv}", arxiv_id=arxiv.removeprefix("arxiv:"))
