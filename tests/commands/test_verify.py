"""Tests `xkg verify` on a graph that came from another machine."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.command import run
from xkg.attestations.bundles import received
from xkg.commands.graph.open import open_store
from xkg.commands.verify import verify, verify_sample
from xkg.config import EnvironmentSettings, SandboxSettings, Settings
from xkg.errors import SandboxUnavailableError, UnknownIdError
from xkg.model import Evidence, Fidelity, Level

PAPER = "title:a-paper-of-halves"
HALF = "def half(x):\n    return x / 2\n"
NODES = {
    "Proven": (HALF, "assert half(4) == 2\nassert half(1) == 0.5\n"),
    "Shown": (HALF, 'if __name__ == "__main__":\n    print(half(4))\n'),
    "Wrong": (HALF, "assert half(4) == 3\n"),
    "Deadly": (HALF, "import os\nos.kill(os.getpid(), 9)\n"),
    "Far away": (HALF, "import socket\nsocket.getaddrinfo('example.org', 80)\n"),
    "Packaged": ("import torch\n", "assert torch\n"),
    "Untested": (HALF, ""),
}


def graph_file(folder: Path, nodes: dict[str, tuple[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    techniques = [
        {
            "name": name,
            "description": f"{name} halves.",
            "weight": 1.0,
            "code": {"implementation": code, "test": test, "documentation": "", "package": [], "pass_exec": True},
            "components": [],
        }
        for name, (code, test) in nodes.items()
    ]
    file = {"paper_title": "A paper of halves", "paper_abstract": "", "paper_references": [], "techniques": techniques}
    (folder / "halves.json").write_text(json.dumps(file))


def settings(kg: Path) -> Settings:
    return Settings(
        kg=kg, environment=EnvironmentSettings(max_mb=0), sandbox=SandboxSettings(seconds=20, memory_mb=300)
    )


@pytest.fixture
def kg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    graph_file(tmp_path / "graphs", NODES)
    assert xkg(tmp_path / "kg", "import", str(tmp_path / "graphs")) == 0
    capsys.readouterr()
    return tmp_path / "kg"


def xkg(kg: Path, *arguments: str) -> int:
    return run("--kg", kg, *arguments)


def levels(kg: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    capsys.readouterr()
    statement = "MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code) RETURN t.name AS name, c.level AS level"
    assert xkg(kg, "cypher", statement, "--format", "json") == 0
    return {row["name"]: row["level"] for row in json.loads(capsys.readouterr().out)}


def test_levels_become_what_holds_and_the_report_says_why(kg: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(levels(kg, capsys).values()) == {"parsed"}
    assert xkg(kg, "verify", "--json") == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert report["causes"] == {
        "passes": 1,
        "test proves nothing": 1,
        "own bug": 1,
        "missing package": 1,
        "wants a download": 1,
        "killed its runner": 1,
        "no test": 1,
    }
    assert report["levels"] == {"tested": 1, "executed": 1, "imported": 4, "parsed": 1}
    assert (report["generation"], report["raised"], report["lowered"]) == (2, 6, 0)
    proven = report["nodes"][0]
    assert set(proven) == {
        *("code", "paper", "before", "level", "cause", "reason", "seconds", "mutants", "mutation_score")
    }
    assert (proven["paper"], proven["before"], proven["level"]) == (PAPER, "parsed", "tested")
    assert proven["mutation_score"] == 1.0
    assert levels(kg, capsys) == {
        "Proven": "tested",
        "Shown": "executed",
        "Wrong": "imported",
        "Deadly": "imported",
        "Far away": "imported",
        "Packaged": "parsed",
        "Untested": "imported",
    }


def test_a_level_that_no_longer_holds_goes_down(kg: Path) -> None:
    first = verify(settings(kg), [PAPER], 2)
    assert (first.raised, first.lowered) == (6, 0)
    with open_store(settings(kg)) as store:
        with store.snapshot() as snapshot:
            bundle = snapshot.bundle(PAPER)
        code = [each.model_copy(update={"implementation": f"1 / 0\n{each.implementation}"}) for each in bundle.code]
        store.publish([bundle.model_copy(update={"code": tuple(code)})])
    lowered = verify(settings(kg), [], 2)
    assert (lowered.raised, lowered.lowered) == (0, 6)


def test_the_table_counts_causes_and_shows_one_reason_of_each(kg: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert xkg(kg, "verify", PAPER, "--jobs", "2") == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "7 code nodes of 1 paper; tests that exit 0: 2"
    assert "      1  own bug                 AssertionError" in captured.out.splitlines()
    assert captured.err.count(PAPER) == 7
    assert "note: 1 code node not run: missing package torch: environments are disabled" in captured.err


@pytest.mark.usefixtures("untried_sandbox")
def test_without_a_sandbox_nothing_is_run(kg: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    alone = settings(kg).model_copy(update={"sandbox": SandboxSettings(runner="bubblewrap")})
    with pytest.raises(SandboxUnavailableError) as refused:
        verify(alone, [], 1)
    assert "\n" not in str(refused.value)


def test_what_is_not_there_cannot_be_verified(kg: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownIdError, match="title:nothing"):
        verify(settings(kg), ["title:nothing"], 1)
    with pytest.raises(UnknownIdError, match="has no papers yet"):
        verify(settings(tmp_path / "empty"), [], 1)


@pytest.mark.parametrize(
    "signals", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.product("each event × each kill"))]
)
def test_a_verification_that_ends_early_changes_nothing_and_is_carried_on(
    kg: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], signals: signal.Signals
) -> None:
    endless = (HALF, "import time\ntime.sleep(600)\n")  # the run must not end before the signal
    graph_file(tmp_path / "graphs", {"Quick": NODES["Shown"], "Slow": endless})
    assert xkg(kg, "import", str(tmp_path / "graphs")) == 0
    before = levels(kg, capsys)
    # A shell without job control ignores this signal for background processes.
    command = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from xkg.cli.main import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", command, "--kg", str(kg), "verify", "--jobs", "1"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert process.stderr is not None
    assert "Quick".casefold() in process.stderr.readline()
    process.send_signal(signals)
    said = process.stderr.read()
    process.wait(60)
    process.stderr.close()
    assert levels(kg, capsys) == before
    if signals is signal.SIGINT:
        assert process.returncode == 130
        assert said.startswith("xkg: interrupted")
    kept = list((kg / "work" / "verify").rglob("verify-*.json"))
    assert len(kept) == 1
    written = kept[0].stat().st_mtime_ns
    graph_file(tmp_path / "graphs", {"Quick": NODES["Shown"], "Slow": (HALF, "assert True\n")})
    assert xkg(kg, "import", str(tmp_path / "graphs")) == 0
    started = time.time_ns()
    assert verify(settings(kg), [], 1).levels == {Level.EXECUTED: 2}
    assert written < started
    assert not list((kg / "work" / "verify").rglob("verify-*.json")), "the next run sees for itself"


def test_attested_levels_count_for_those_who_trust_the_key(
    kg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "lab"))
    graph_file(tmp_path / "graphs", {name: NODES[name] for name in ("Proven", "Shown", "Packaged")})
    assert xkg(kg, "import", str(tmp_path / "graphs")) == 0
    assert xkg(kg, "verify", "--attest") == 1
    assert "there is no key to sign with; `xkg key` creates one" in capsys.readouterr().err
    assert xkg(kg, "key", "--name", "LAB") == 0
    key = capsys.readouterr().out.strip()
    assert xkg(kg, "verify", "--attest", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["attested"], report["levels"]) == (2, {"tested": 1, "executed": 1, "parsed": 1})
    assert xkg(kg, "export", "--format", "bundle", "--to", str(tmp_path / "sent")) == 0

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "reader"))
    there = tmp_path / "there"
    assert xkg(there, "import", str(tmp_path / "sent")) == 0
    assert set(levels(there, capsys).values()) == {"claimed"}

    def search(*options: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in ("Proven", "Shown", "Packaged"):
            capsys.readouterr()
            assert xkg(there, "search", name, "--json", *options) == 0
            found |= {row["name"]: row["level"] for row in json.loads(capsys.readouterr().out)["rows"]}
        return found

    assert search("--level", "executed") == {}
    assert xkg(there, "trust", "add", key) == 0
    attested = {"Proven": "tested, attested by LAB", "Shown": "executed, attested by LAB"}
    assert search("--level", "executed") == attested
    assert search() == {**attested, "Packaged": "claimed"}
    assert xkg(there, "trust", "revoke", "LAB") == 0
    assert search("--level", "claimed") == dict.fromkeys(("Proven", "Shown", "Packaged"), "claimed")
    assert xkg(there, "verify") == 0
    assert search("--level", "executed") == {"Proven": "tested", "Shown": "executed"}
    assert xkg(tmp_path / "own", "import", "--own", str(tmp_path / "sent")) == 0
    assert levels(tmp_path / "own", capsys) == {"Proven": "tested", "Shown": "executed", "Packaged": "parsed"}


def test_a_sample_of_claims_is_run_before_it_is_accepted(kg: Path) -> None:
    ran = Evidence(level=Level.FAITHFUL, runner="bubblewrap", exit_code=0, fidelity=Fidelity(share=1.0, faults=()))
    with open_store(settings(kg)) as store, store.snapshot() as snapshot:
        bundle = snapshot.bundle(PAPER)
    boasts = [each.model_copy(update={"level": Level.FAITHFUL, "evidence": (ran,)}) for each in bundle.code]
    claimed = received(bundle.model_copy(update={"code": tuple(boasts)}))
    sample = verify_sample(settings(kg), [claimed], 100)
    assert (sample.verified, len(sample.failed), len(sample.skipped)) == (7, 4, 2)
    assert "of 7 code nodes that were run, 1 reached their claimed level" in str(sample)
    assert re.search(r"failed: .*#wrong@\w+ claims tested, reached imported: AssertionError", str(sample))
    [accepted] = sample.bundles
    assert Counter(each.level for each in accepted.code) == {Level.TESTED: 1, Level.CLAIMED: 6}
    [proven] = [each for each in accepted.code if each.level is Level.TESTED]
    assert proven.evidence[-1].fidelity is None, "nobody here has compared it with its source"
    assert verify_sample(settings(kg), [claimed], 1).verified == 1
    assert verify_sample(settings(kg), [bundle], 5).verified == 0
