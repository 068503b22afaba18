import json
from pathlib import Path

import pytest

from evaluation.executability.__main__ import main
from evaluation.results.document import read

IMPLEMENTATION = "def double(x):\n    return 2 * x\n"


def graph(folder: Path, **tests: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, test in tests.items():
        code = {"implementation": IMPLEMENTATION, "test": test, "pass_exec": True}
        (folder / f"{name}.json").write_text(
            json.dumps({"paper_title": name, "techniques": [{"name": "double", "code": code}]})
        )
    return folder


def test_what_a_file_claims_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = graph(tmp_path / "g", sound="assert double(2) == 4\nassert double(3) == 6", broken="assert double(2) == 5")
    before, now = tmp_path / "before.json", tmp_path / "now.json"
    main([str(folder), "--json", str(before)])
    results = read(before, "executability")
    values = {figure.name: figure.value for figure in results.figures}
    assert values["exits 0"] == 0.5
    assert values["claim holds"] == 0.5
    assert values["cause: own bug"] == 0.5
    (broken,) = [node for code, node in results.details["nodes"].items() if "broken" in code]
    assert (broken["claimed"], broken["level"]) == ("executed", "imported")
    graph(folder, broken="assert double(2) == 4")
    main([str(folder), "--json", str(now), "--against", str(before)])
    printed = capsys.readouterr().out
    assert "1 + 1" in printed.splitlines()[-1]  # other code is another node: it is not paired
