"""Creates a paper whose texts all have a given length, except for ids and fields with few possible values."""

from typing import Any

from tests.store.graphs import a_paper
from xkg.model import Evidence, Level, PaperBundle

PAPER = "arxiv:2101.00001"
TECHNIQUE = f"{PAPER}#method/layer-norm"

_SHORT = frozenset("id technique symbol repository parent kind level grounding origin state claims hidden".split())


def long_texts(characters: int) -> PaperBundle:
    evidence = Evidence(level=Level.PARSED, reason="-", output_end="-", command="-", missing=("-",))
    paper = a_paper().model_dump()
    paper["paper"] |= {"abstract": "-", "code_overview": "-", "authors": ["-"], "arxiv_id": None}
    paper["code"][0]["evidence"] = [evidence.model_dump()]
    text = ("word " * (characters // 5 + 1))[:characters]

    def long(value: Any) -> Any:
        match value:
            case str() if value:
                return text
            case dict():
                return {name: item if name in _SHORT else long(item) for name, item in value.items()}
            case list() | tuple():
                return [long(item) for item in value]
            case _:
                return value

    made: dict[str, Any] = {name: long(value) for name, value in paper.items()}
    made["derivations"] = paper["derivations"]
    return PaperBundle.model_validate(made)
