import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.build.guided.fake_model import FakeModel
from tests.store.graphs import FakeHashEmbedder
from xkg.build.code.codebase import Codebase
from xkg.build.code.repository import parse_repository
from xkg.build.grounding.ground import candidates
from xkg.build.guided.reading.ground import GuidedGrounding, ground_with_model, quoted_lines
from xkg.build.repositories.checkout import fetch_repository
from xkg.errors import AnswerError
from xkg.model import Repository, Technique

DATA = Path(__file__).parents[3] / "data" / "ground"


def technique(name: str, definition: str, parent: str | None = None) -> Technique:
    return Technique(id=f"p#{name}", name=name, definition=definition, parent=parent, depth=parent is not None)


TERN = technique("Temporal Echo Retrieval Network", "Gates a spectrum and retrieves the nearest echo from a memory.")
MEMORY = technique("Echo memory", "Slots of past spectra, of which the oldest is overwritten.", TERN.id)
GATE = technique("Spectral gating", "Frequency bands below a learned noise floor are suppressed.", TERN.id)
CONTRAST = technique("Nearest Echo Contrast", "The echo is drawn to the anchor, others are pushed away.", TERN.id)
ALL = [TERN, MEMORY, GATE, CONTRAST]


@pytest.fixture(scope="module")
def codebase(tmp_path_factory: pytest.TempPathFactory) -> Codebase:
    return parse_repository(fetch_repository(str(DATA), tmp_path_factory.mktemp("cache")))


def located(codebase: Codebase, model: FakeModel, techniques: Sequence[Technique] = ALL) -> GuidedGrounding:
    return ground_with_model(techniques, codebase, FakeHashEmbedder(), None, "A network of echoes.", model)


def number(inputs: Mapping[str, str], name: str) -> int:
    found = re.search(rf"^\[(\d+)\] \S+::{re.escape(name)} \(", inputs["candidates"], re.M)
    assert found, name
    return int(found[1])


def requested_techniques(inputs: Mapping[str, str]) -> list[str]:
    return re.findall(r"^\d+\. ([^(]+) \(", inputs["techniques"], re.M)


def placed(symbol: object, sure: str = "high", lines: Sequence[str] = ()) -> dict[str, Any]:
    return {"symbol": str(symbol), "sure": sure, "lines": list(lines)}


def about(technique: int, *places: dict[str, Any]) -> dict[str, Any]:
    return {"technique": technique, "why": "because", "places": places, "lacking": ""}


def answering(wanted: Mapping[str, Sequence[tuple[str, str]]]) -> Any:
    """Returns an answer that locates each technique (by name) at the given symbols, with the given certainty."""

    def answer(inputs: Mapping[str, str]) -> Any:
        return {
            "techniques": [
                about(i, *(placed(number(inputs, s), sure) for s, sure in wanted.get(name, ())))
                for i, name in enumerate(requested_techniques(inputs), start=1)
            ]
        }

    return answer


def names(found: GuidedGrounding, technique: Technique) -> list[str]:
    return [location.symbol.rpartition("::")[2] for location in found.grounding.of(technique.id)]


def test_places_come_in_the_order_of_the_answer_with_scores_that_fall(codebase: Codebase) -> None:
    wanted = {
        MEMORY.name: [("EchoMemory", "high"), ("SpectralGate", "high"), ("nec_loss", "low")],
        GATE.name: [("SpectralGate", "low"), ("EchoMemory", "high")],
    }
    found = located(codebase, FakeModel({"ground": answering(wanted)}))
    assert names(found, MEMORY) == ["EchoMemory", "SpectralGate", "nec_loss"]
    locations = found.grounding.of(MEMORY.id)
    assert [location.rank for location in locations] == [1, 2, 3]
    assert 1 >= locations[0].score > locations[1].score > locations[2].score > 0
    low = [location.score for location in found.grounding.of(GATE.id)]
    assert low[0] >= low[1]
    assert found.grounding.doubtful == {GATE.id}
    assert {t: s.rpartition("::")[2] for t, s in found.grounding.primaries.items()} == {
        MEMORY.id: "EchoMemory",
        GATE.id: "SpectralGate",
    }


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ([(1, [999])], "no candidate 999"),
        ([(1, [1, 1])], "twice"),
        ([(1, [1, 2, 3, 4, 5, 6])], "at most 5"),
        ([], "from 1 to 1 once"),
    ],
)
def test_faults_are_sent_back(codebase: Codebase, answer: list[tuple[int, list[int]]], complaint: str) -> None:
    wrong = {"techniques": [about(t, *map(placed, symbols)) for t, symbols in answer]}
    model = FakeModel({"ground": [wrong, answering({MEMORY.name: [("EchoMemory", "high")]})]})
    found = located(codebase, model, [MEMORY])
    assert complaint in str(model.requests[0][3])
    assert names(found, MEMORY) == ["EchoMemory"]


def test_a_technique_that_gets_no_usable_answer_does_not_take_others_with_it(codebase: Codebase) -> None:
    right = answering({t.name: [("EchoMemory", "high")] for t in ALL})

    def answer(inputs: Mapping[str, str]) -> Any:
        if GATE.name in requested_techniques(inputs):
            raise AnswerError("ground: nothing that can be used")
        return right(inputs)

    found = located(codebase, FakeModel({"ground": answer}))
    assert dict(found.failed) == {GATE.id: "ground: nothing that can be used"}
    assert [names(found, t) for t in ALL] == [["EchoMemory"], ["EchoMemory"], [], ["EchoMemory"]]


def test_very_many_techniques_are_asked_about_in_halves(codebase: Codebase) -> None:
    many = [t.model_copy(update={"id": f"{t.id}{i}"}) for i in range(7) for t in ALL]
    model = FakeModel({"ground": answering({t.name: [("EchoMemory", "medium")] for t in ALL})})
    found = located(codebase, model, many)
    assert [len(requested_techniques(inputs)) for _, _, inputs, _ in model.requests] == [14, 14]
    assert all(names(found, t) == ["EchoMemory"] for t in many)


def test_without_anything_to_locate_the_model_is_not_called(codebase: Codebase) -> None:
    empty = Codebase(repository=Repository(id="local:empty@0", url=""))
    model = FakeModel({})
    assert located(codebase, model, []).grounding.locations == ()
    assert located(empty, model).grounding.locations == ()
    assert candidates(ALL, empty, FakeHashEmbedder(), limit=3).symbols == {t.id: () for t in ALL}


def test_functions_are_complete_as_long_as_there_is_room(tmp_path: Path) -> None:
    long = "slots_of_past_spectra_of_the_memory_of_echoes_of_a_network" * 2

    def candidates_for(functions: int) -> str:
        folder = tmp_path / str(functions)
        folder.mkdir()
        for i in range(functions):
            operators = "+-*/%@"[i % 6], "+-*/%@"[i // 6]  # all functions differ
            lines = "".join(
                f"    echo{j} = echo{j - 1} {operators[0]} memory {operators[1]} {long} / oldest\n"
                for j in range(1, 51)
            )
            (folder / f"m{i}.py").write_text(f"def echo{i}(echo0, memory, {long}, oldest):\n{lines}    return echo50\n")
        code = parse_repository(fetch_repository(str(folder), tmp_path / "cache"))
        model = FakeModel({"ground": answering({})})
        located(code, model, [MEMORY, GATE, CONTRAST])
        return str(model.requests[0][2]["candidates"])

    few, many = candidates_for(2), candidates_for(30)
    assert few.count("echo27 = echo26") == 2
    assert "…" not in few
    assert len(many) <= 30_000
    assert many.count("… ") >= 5


def test_the_lines_that_do_a_technique_are_taken_from_what_the_model_quotes(codebase: Codebase) -> None:
    def answer(quotes: Sequence[str]) -> Any:
        def of(inputs: Mapping[str, str]) -> Any:
            return {"techniques": [about(1, placed(f"[{number(inputs, 'nec_loss')}]", lines=quotes))]}

        return of

    symbol = next(s for i, s in codebase.symbols().items() if i.endswith("::nec_loss")).symbol
    source = codebase.source(symbol).split("\n")
    last = source[-1].strip()
    found = located(codebase, FakeModel({"ground": answer([last[:20] + "…"])}), [CONTRAST])
    [lines] = found.lines[CONTRAST.id].values()
    assert [(at.start_line, at.end_line) for at in lines] == [(symbol.end_line, symbol.end_line)]
    assert found.grounding.of(CONTRAST.id)[0].focus == lines
    for quotes in ([], ["not a line of it"], [last, "nor this"]):
        assert located(codebase, FakeModel({"ground": answer(quotes)}), [CONTRAST]).lines == {}


def test_lines_of_a_whole_file_narrow_it_too(tmp_path: Path) -> None:
    (tmp_path / "echoes.py").write_text("import numpy as np\n\nspectra = np.eye(3)\nechoes = np.fft.fft(spectra)\n")
    codebase = parse_repository(fetch_repository(str(tmp_path), tmp_path / "cache"))
    answer = {"techniques": [about(1, placed("echoes.py", lines=["echoes = np.fft"]))]}
    found = located(codebase, FakeModel({"ground": answer}), [MEMORY])
    [lines] = found.lines[MEMORY.id].values()
    assert [(at.start_line, at.end_line) for at in lines] == [(4, 4)]


def test_a_line_quoted_whole_is_no_longer_line_that_begins_alike() -> None:
    source = "resid = y - x @ theta\nresid = y - x @ theta_opt\n"
    assert [(at.start_line, at.end_line) for at in quoted_lines(source, 7, ["resid = y - x @ theta"])] == [(7, 7)]
    assert [(at.start_line, at.end_line) for at in quoted_lines(source, 7, ["resid = y - x"])] == [(7, 8)]


def test_the_model_may_look_at_the_repository_and_name_what_no_candidate_is(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("def assemble(memory):\n    return memory[0]\n")
    for i in range(12):
        (tmp_path / f"other{i}.py").write_text(
            f'def echo_memory_{i}(m):\n    """Echo memory spectrum."""\n    return m\n'
        )
    codebase = parse_repository(fetch_repository(str(tmp_path), tmp_path / "cache"))
    asking = {"techniques": [], "open": ["assemble"], "search": ["memory["]}
    right = {"techniques": [about(1, placed("slow.py::assemble"))]}
    model = FakeModel({"ground": [asking, right]})
    assert names(located(codebase, model, [MEMORY]), MEMORY) == ["assemble"]
    assert "slow.py::" not in model.requests[0][2]["candidates"]
    assert "# slow.py:2: return memory[0]" in str(model.requests[0][3])
