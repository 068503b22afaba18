"""Runs the build stages that use a language model, in order."""

import functools
from collections.abc import Collection, Mapping, Sequence

from xkg.build.code.codebase import Codebase
from xkg.build.context import BuildContext, CodeNodes, Contents, OpenedPaper, Stopped
from xkg.build.grounding.ground import Grounding
from xkg.build.guided.coding.draft_check import PLUMBING
from xkg.build.guided.coding.material import narrowed
from xkg.build.guided.coding.technique import Coded, CodingContext, Model, code_techniques
from xkg.build.guided.coding.trial import Trials
from xkg.build.guided.coding.write import ALWAYS
from xkg.build.guided.draft import prompt
from xkg.build.guided.reading.extract import GuidedExtraction, extract_with_model
from xkg.build.guided.reading.ground import GuidedGrounding, ground_with_model
from xkg.build.guided.reading.overview import overview
from xkg.build.guided.reading.public_code import unreached
from xkg.build.package_versions import unavailable_packages
from xkg.build.slicing.slice import slice_symbols
from xkg.build.stage_cache import levels
from xkg.build.static_stages import describe_extraction, describe_grounding
from xkg.errors import LanguageModelError
from xkg.llm.client import LanguageModel
from xkg.model import Code, Level, LineRange, Technique
from xkg.sandbox.select import limits_for

# The reason cannot be more specific, because other lines were not examined.
NOT_AMONG_THE_NEAREST = "not found among the lines ranked highest by a search of the repository"


def guided_stages(opened: OpenedPaper, context: BuildContext, model: LanguageModel) -> Contents:
    """Runs the extract and ground stages, then modularize, debug and check for each technique, and stores each stage's
    output.

    If the model fails for one technique, notes the reason in `incomplete` and continues with the others. If further
    questions would also fail, returns the results so far with `stopped`. Raises `LanguageModelError` if there are no
    techniques yet. Also raises the errors of the stages."""
    work = GuidedBuild(opened, context, model)
    try:
        work.extract()
    except LanguageModelError as error:
        raise type(error)(str(Stopped("extract", error))) from error
    try:
        if opened.codebase is not None and work.techniques:
            work.ground(opened.codebase)
        if opened.codebase is not None and work.techniques:
            work.code(opened.codebase)
    except LanguageModelError as error:
        work.stop(error)
    return work.contents()


class GuidedBuild:
    """Runs the guided stages for one paper and keeps their results so far. Call the stages in order."""

    def __init__(self, opened: OpenedPaper, context: BuildContext, model: Model) -> None:
        self._opened = opened
        self._context = context
        self._model = model
        self._ask = model.for_paper(opened.identity)
        self._cache = opened.cache
        self._stage = "extract"
        self._extraction = GuidedExtraction()
        self._grounding = Grounding()
        self._overview = ""
        self._nodes = CodeNodes()
        self._reasons: dict[str, str] = {}
        self._why: Mapping[str, str] = {}
        self._lines: Mapping[str, Mapping[str, Sequence[LineRange]]] = {}
        self._incomplete: list[str] = []
        self._stopped: Stopped | None = None
        self.techniques: Sequence[Technique] = ()
        self.located: dict[str, Sequence[str]] = {}

    def extract(self) -> None:
        document, codebase, window = self._opened.document, self._opened.codebase, self._context.settings.llm.window
        self._extraction = self._cache.stage(
            "extract",
            {
                "paper": self._opened.identity,
                "document": document.source_sha256,
                "format": document.format,
                **self._prompts_key("extract"),
                "window": window,
                "repository": codebase.repository.id if codebase is not None else None,
            },
            GuidedExtraction,
            lambda: extract_with_model(document, self._opened.identity, self._ask, window, codebase),
            describe_extraction,
        )
        self.techniques = self._extraction.techniques

    def ground(self, codebase: Codebase) -> None:
        self._stage = "ground"
        self._overview = overview(codebase)
        techniques = self.techniques
        grounded = self._cache.stage(
            "ground",
            {
                **self._opened.source,
                **self._prompts_key("ground"),
                "overview": self._overview,
                "techniques": [t.model_dump(mode="json") for t in techniques],
                "places": dict(self._extraction.places),
            },
            GuidedGrounding,
            lambda: ground_with_model(
                techniques,
                codebase,
                self._context.embedder,
                self._opened.document,
                self._overview,
                self._ask,
                self._extraction.places,
            ),
            lambda g: describe_grounding(g.grounding, len(techniques)),
            keep=lambda g: not g.failed,
        )
        self._grounding = grounded.grounding
        of = {t.id: [place.symbol for place in self._grounding.of(t.id)] for t in techniques}
        self.located = {technique: symbols for technique, symbols in of.items() if symbols}
        self._record_failures(grounded.failed)
        self._why, self._lines = grounded.why, grounded.lines
        nowhere = (t.id for t in techniques if t.id not in self.located and t.id in grounded.why)
        self._reasons |= {t: f"{NOT_AMONG_THE_NEAREST}: {grounded.why[t]}" for t in nowhere}
        self._reasons |= {t: f"not located: {why}" for t, why in grounded.failed.items() if t not in self.located}

    def code(self, codebase: Codebase) -> None:
        self._stage = "code"
        trials = self._trials(codebase)
        coding = CodingContext(
            self._cache.folder / "techniques",
            self._context.settings,
            codebase,
            self._model,
            self._ask,
            trials,
            runs=self._context.runner is not None,
            why=self._why,
            lines=self._lines,
            # The extra jobs let questions continue while tests for other techniques run.
            jobs=self._context.settings.llm.concurrency + (trials.slots.count if trials else 0),
        )

        def work() -> tuple[dict[str, Coded], LanguageModelError | None]:
            report = functools.partial(self._cache.progress, "code")
            begun = functools.partial(self._cache.begun, "code")
            return code_techniques(self.techniques, self.located, coding, report, begun)

        coded, error = self._cache.timed("code", work, lambda result: (_summary(result[0].values()), False))
        code = tuple(c.code for c in coded.values() if c.code)
        self._nodes = CodeNodes(
            code=code,
            derivations=tuple(d for c in coded.values() for d in c.derivations),
            final=error is None and all(c.final for c in coded.values()),
            notes=_notes(code, trials),
        )
        self._reasons |= {c.technique: c.reason for c in coded.values() if c.reason}
        self._record_failures({c.technique: c.failed for c in coded.values() if c.failed})
        if error is not None:
            why = "the build stopped before its code was written"
            self._reasons |= dict.fromkeys(self.located.keys() - coded.keys(), why)
            raise error

    def stop(self, error: LanguageModelError) -> None:
        self._stopped = Stopped(self._stage, error)
        self._incomplete.append(str(self._stopped))

    def contents(self) -> Contents:
        if self._stopped is not None and self._stage == "ground":
            why = "the build stopped in stage ground, before its code was located"
            self._reasons = {t.id: why for t in self.techniques}
        techniques = tuple(t.model_copy(update={"hidden": self._reasons.get(t.id)}) for t in self.techniques)
        end = next((n for n, t in enumerate(techniques) if n and t.parent is None), len(techniques))
        techniques = (*techniques[:end], *self._extraction.outside, *techniques[end:])
        codebase, located = self._opened.codebase, [each for symbols in self.located.values() for each in symbols]
        return Contents(
            self._extraction.model_copy(update={"techniques": techniques}),
            self._grounding,
            self._nodes,
            self._overview,
            tuple(self._incomplete),
            self._stopped,
            unreached(codebase, self._extraction.nothing_in, located) if codebase is not None else (),
        )

    def _prompts_key(self, *names: str) -> dict[str, object]:
        return {"prompts": self._model.identity(*map(prompt, names))}

    def _record_failures(self, failed: Mapping[str, str]) -> None:
        names = {t.id: t.name for t in self.techniques}
        self._incomplete += [f"{names[technique]}: {why}" for technique, why in failed.items()]

    def _trials(self, codebase: Codebase) -> Trials | None:
        context = self._context
        if context.runner is None:
            return None
        limits = limits_for(context.settings.sandbox)
        needed = {
            package
            for technique, symbols in self.located.items()
            for symbol in symbols
            for package in slice_symbols(
                codebase, [symbol], lines=narrowed(codebase, [symbol], self._lines.get(technique, {}))
            ).packages
        }
        base: dict[str, Sequence[str]] = dict.fromkeys(sorted({*ALWAYS, *needed} - PLUMBING), ())
        return Trials(
            self._cache.folder / "runs",
            context.runner,
            limits,
            functools.partial(context.environment, declared=codebase.declared),
            codebase.requirements,
            self._opened.written,
            base,
        )


def _summary(coded: Collection[Coded]) -> str:
    ran = sum(c.first is not None and c.first.rank >= Level.EXECUTED.rank for c in coded)
    repairs = sum(c.repairs for c in coded)
    code = [c.code for c in coded if c.code]
    return f"{levels(code)}; {ran} of {len(code)} ran on the first try, {repairs} repairs"


def _notes(code: Sequence[Code], trials: Trials | None) -> tuple[str, ...]:
    if trials is None:
        return ()
    notes = [note for environment in trials.environments.values() for note in environment.notes]
    for environment in trials.environments.values():
        notes += unavailable_packages(code, environment, offered=ALWAYS)
    return tuple(dict.fromkeys(notes))
