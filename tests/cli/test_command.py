from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
import typer
from typer.testing import CliRunner

from xkg.cli.command import command
from xkg.config import Settings
from xkg.option import Option


class Fields(TypedDict, total=False):
    seeds: Annotated[Sequence[int], Option("Seeds.", "--seed")]
    data: Annotated[Mapping[str, Path], Option("Data.")]
    graph: Annotated[bool, Option("Without the graph.", "--no-graph")]
    mode: Annotated[Literal["fast", "slow"], Option("Mode.")]
    text: str


def runs(function: Any, *words: str) -> Any:
    app = typer.Typer()

    @app.callback()
    def main(context: typer.Context) -> None:
        context.obj = {"kg": None, "more": []}

    app.command("it")(function)
    return CliRunner().invoke(app, ["it", *words])


def test_fields_become_options_and_only_the_given_ones_arrive() -> None:
    arrived: list[object] = []

    @command()
    def it(fields: Fields) -> None:
        arrived.append(fields)

    assert runs(it).exit_code == 0
    assert runs(it, "--seed", "1", "--seed", "2", "--data", "a=/b", "--no-graph", "--mode", "slow").exit_code == 0
    assert arrived == [{}, {"seeds": [1, 2], "data": {"a": Path("/b")}, "graph": False, "mode": "slow"}]
    assert runs(it, "--text", "x").exit_code == 2
    assert "write PATH=FOLDER" in str(runs(it, "--data", "a").exception)


def test_named_options_override_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_LLM__MODEL", "from-the-environment")
    arrived: list[Settings] = []

    @command(llm="Model.", packages="Packages.")
    def it(settings: Settings) -> None:
        arrived.append(settings)

    runs(it)
    runs(it, "--llm", "none", "--with", "h5py")
    assert [each.llm.model for each in arrived] == ["from-the-environment", "none"]
    assert arrived[1].environment.packages == ("h5py",)
