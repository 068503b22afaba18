"""Removes the values that differ between runs, so that results can be compared."""

from xkg.model import Code, PaperBundle


def timeless_code(code: Code) -> Code:
    measured = {"seconds": None, "peak_memory_mb": None, "checked_at": None}
    return code.model_copy(update={"evidence": tuple(e.model_copy(update=measured) for e in code.evidence)})


def timeless(bundle: PaperBundle) -> PaperBundle:
    paper = bundle.paper.model_copy(update={"built_at": None, "cost_usd": 0.0})
    return bundle.model_copy(update={"paper": paper, "code": tuple(map(timeless_code, bundle.code))})
