import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command import run as run_command
from tests.conftest import EXAMPLE, EXAMPLE_ID, PEER, ROOT
from xkg.version import __version__

TOP = f"{EXAMPLE_ID}#stein-variational-gradient-descent"
MEDIANS = "title:running-medians-for-spiky-signals"


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """Returns the error message. Checks that the message is a single line without a traceback."""
        lines = [line for line in self.err.splitlines() if line.startswith("xkg: ")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        assert "bug in xkg" not in self.err
        return lines[0]


Run = Callable[..., Outcome]


@pytest.fixture
def xkg(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    """Runs the command in this process, in an empty folder, without a model or packages. Sets the
    minimum level to the only one that needs no packages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    monkeypatch.setenv("XKG_LLM__MODEL", "none")
    monkeypatch.setenv("XKG_PRUNE__MIN_LEVEL", "parsed")

    def run(*arguments: object, kg: Path | None = None) -> Outcome:
        code = run_command(*(["--kg", kg] if kg else []), *arguments)
        return Outcome(code, *capsys.readouterr())

    return run


# --- questions of a user ----------------------------------------------------------------------------------------------


def test_search_says_where_and_what_it_found(xkg: Run, published: Path) -> None:
    found = xkg("search", "running median", "-k", 1, kg=published)
    assert found.code == 0
    assert found.out.startswith("1. Running median  [score 1, level parsed]\n")
    assert "Searched: all 5 papers" in found.out
    assert found.err == ""


def test_search_within_a_paper_and_with_code(xkg: Run, published: Path) -> None:
    found = xkg("search", "running median", "--with-code", "-k", 1, kg=published)
    assert "```python\nimport statistics" in found.out
    asked = ("search", "running median", "--with-code", "--json", "--paper", MEDIANS)
    answer = json.loads(xkg(*asked, kg=published).out)
    assert [row["code"] for row in answer["rows"]] == [code["id"] for code in answer["implementations"]]
    assert all(row["id"].startswith(MEDIANS) for row in answer["rows"])
    assert "def running_median" in answer["implementations"][0]["implementation"]


@pytest.mark.parametrize(
    ("narrowed", "left"),
    [
        (["--level", "executed"], False),
        (["--language", "julia"], False),
        (["--package", "no-such-package"], False),
        (["--exclude", MEDIANS], False),
        (["--exclude", EXAMPLE_ID], True),
        (["--first-year", "2500"], False),
    ],
)
def test_search_is_narrowed(xkg: Run, published: Path, narrowed: list[str], left: bool) -> None:
    answer = json.loads(xkg("search", "running median", "--json", *narrowed, kg=published).out)
    assert any(row["name"] == "Running median" for row in answer["rows"]) == left
    assert all(row["id"] for row in answer["rows"])


def test_context_is_markdown_within_a_budget(xkg: Run, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # lines are not folded in a pipe
    plan = xkg("context", EXAMPLE_ID, "--budget", 400, kg=published).out
    assert plan.startswith("# Plan of the paper: ")
    assert len(plan) <= 4 * 400
    code = json.loads(
        xkg("context", EXAMPLE_ID, "--view", "implementation", "--code", "raw", "--json", kg=published).out
    )
    assert f"{TOP}/rbf-kernel-with-median-heuristic/median-heuristic" in code["pairs"]
    assert "# svgd/kernels.py:15-19\ndef median_bandwidth" in code["context"]
    assert (
        "include cannot be 'prose'; choose from paper, "
        in xkg("context", EXAMPLE_ID, "--include", "prose", kg=published).line
    )


def test_a_task_is_found_part_by_part_also_without_a_model(xkg: Run, published: Path) -> None:
    task = "1. running median\n2. zzqx blorp"
    answer = json.loads(xkg("search", "--task", task, "--with-code", "--json", "--paper", MEDIANS, kg=published).out)
    assert [[row["name"] for row in part["rows"]][:1] for part in answer["parts"][:2]] == [["Running median"], []]
    assert answer["verified"].startswith("not verified")
    assert any("def running_median" in code["implementation"] for code in answer["implementations"])
    said = xkg("search", "--task", task, kg=published)
    assert (said.code, "Running median" in said.out, "not verified" in said.out) == (0, True, True)
    assert "the task is empty" in xkg("search", "--task", " ", kg=published).line


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (["find", "running median"], ["search", "--task", "running median"]),
        (["related", EXAMPLE_ID], ["show", "--related", EXAMPLE_ID]),
        (["ablations", EXAMPLE_ID, "--llm", "none"], ["ablate", "plan", EXAMPLE_ID, "--llm", "none"]),
        (["report"], ["explore", "--save", "report.html"]),
        (["report", "--to", "a.html"], ["explore", "--save", "a.html"]),
    ],
)
def test_a_former_name_does_what_the_present_one_does(
    xkg: Run, published: Path, former: list[str], now: list[str]
) -> None:
    before, after = xkg(*former, kg=published), xkg(*now, kg=published)
    assert (before.code, before.out) == (after.code, after.out)
    assert f"`xkg {former[0]}` is now `xkg {now[0]}" in before.err


def test_help_lists_common_options_and_help_all_every_one(xkg: Run) -> None:
    for command in ("build", "implement", "ablate"):
        short, whole = xkg(command, "--help").out, xkg(command, "--help-all").out
        options = [set(re.findall(r"│ (--[a-z-]+)", text)) for text in (short, whole)]
        assert options[0] < options[1]
        assert len(options[0]) <= 12


def test_nothing_found_is_an_answer_too(xkg: Run, published: Path) -> None:
    found = xkg("search", "zzqx blorp", kg=published).out
    assert found.startswith("None of the techniques found in these 5 papers does this.")
    assert json.loads(xkg("search", "zzqx blorp", "--json", kg=published).out)["rows"] == []
    nobody = "MATCH (t:Technique) WHERE t.name = 'nobody' RETURN t.name"
    assert json.loads(xkg("cypher", nobody, "--format", "json", kg=published).out) == []


def test_show_of_a_paper_is_one_screen_and_all_of_it_on_demand(xkg: Run, published: Path) -> None:
    screen, whole = (xkg("show", EXAMPLE_ID, *more, kg=published).out for more in ((), ("--all",)))
    assert "references:" in whole
    assert "references:" not in screen
    assert "code files:" not in screen
    assert re.search(r"^Left out: .*references.*: --all$", screen, re.MULTILINE)
    paper = json.loads(xkg("show", EXAMPLE_ID, "--json", kg=published).out)
    assert all(t["name"] in screen for t in paper["techniques"])
    for hidden in paper["hidden"]:
        assert hidden["reason"] in screen
        assert f"hidden: {hidden['reason']}" in xkg("show", hidden["id"], kg=published).out


def test_papers_are_listed_and_narrowed(xkg: Run, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    listed = xkg("papers", kg=published)
    assert listed.out.splitlines()[0].split() == ["id", "title", "year", "techniques", "code", "tested", "state"]
    assert listed.out.endswith("(all 5 papers)\n")
    answer = json.loads(xkg("papers", "medians", "spiky", "--json", kg=published).out)
    assert [row["id"] for row in answer["rows"]] == [MEDIANS]
    assert xkg("papers", "--tested", kg=published).out.startswith("No such paper.\n(0 of 5 papers: those with tested")
    assert "papers without a year are left out" in xkg("papers", "--first-year", "1900", kg=published).out
    assert xkg("papers", "-k", 2, kg=published).out.endswith(
        "Left out: 3 more papers after the first 2; use -k for more.\n"
    )
    monkeypatch.setenv("COLUMNS", "60")
    narrow = xkg("papers", "medians", kg=published).out.splitlines()
    assert narrow[:2] == ["running-medians-for", "  Running Medians for Spiky Signals"]
    assert max(map(len, narrow)) <= 60


@pytest.mark.parametrize("columns", [80, 120])
def test_answers_fit_a_terminal_and_their_short_ids_are_taken_everywhere(
    xkg: Run, published: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    found = xkg("search", "running median", "-k", 1, kg=published).out
    assert max(map(len, found.splitlines())) <= columns
    short = found.splitlines()[1].strip()
    assert len(short) < len(MEDIANS)
    code = re.search(r"code (\S+@[0-9a-f]{12})", " ".join(found.split()))
    assert code is not None
    assert xkg("show", code[1], kg=published).out.startswith("Code: Running median")
    for command in (["show"], ["locate"]):
        assert xkg(*command, short, kg=published).code == 0
    paper = "running-medians-for"
    for command in (
        ["show", paper],
        ["show", "--related", paper],
        ["context", paper],
        ["export", "--to", "out", paper],
    ):
        assert xkg(*command, kg=published).code == 0
    tree = xkg("cypher", "component-tree", "--param", f"paper={paper}", "--json", kg=published)
    assert json.loads(tree.out)
    table = xkg("cypher", "component-tree", "--param", "paper=Running Medians for Spiky Signals", kg=published).out
    assert MEDIANS not in table
    assert max(len(line) for line in table.splitlines() if len(line.split()) > 2) <= columns


def test_the_graph_may_be_named_anywhere(xkg: Run, published: Path) -> None:
    expected = xkg("papers", kg=published).out
    assert xkg("papers", "--kg", published).out == expected
    assert xkg("papers", f"--kg={published}").out == expected
    assert "--kg" in xkg("search", "--", "--kg").line + xkg("papers", "--kg").line


def test_an_id_is_completed(xkg: Run, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(line: str, folder: Path = published) -> list[str]:
        words = {"_XKG_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        with monkeypatch.context() as patch:
            for name, value in {**words, "XKG_KG": str(folder)}.items():
                patch.setenv(name, value)
            done = xkg()
        assert done.err == ""
        return done.out.split()

    assert completed("xkg context run") == ["running-medians-for"]
    assert "running-medians-for#running-median" in completed("xkg show running-median")
    assert completed("xkg cypher component-t") == ["component-tree"]
    assert completed(f"xkg --kg {published} context run", tmp_path / "none") == ["running-medians-for"]
    assert completed("xkg context run", tmp_path / "none") == []


def test_cypher_prints_tables_json_and_csv(xkg: Run, published: Path) -> None:
    statement = f"MATCH (t:Technique) WHERE t.id = '{MEDIANS}#compound-smoother' RETURN t.name, t.depth"
    assert json.loads(xkg("cypher", statement, "--format", "json", kg=published).out) == [
        {"t.name": "Compound smoother", "t.depth": 0}
    ]
    assert (
        xkg("cypher", statement, "--format", "csv", kg=published).out == '"t.name","t.depth"\n"Compound smoother","0"\n'
    )
    assert xkg("cypher", statement, kg=published).out.endswith("(1 row)\n")
    cut = xkg("cypher", "MATCH (t:Technique) RETURN t.name", "--rows", 2, kg=published)
    assert "only the first 2 rows" in cut.err


def test_cypher_lists_its_named_queries(xkg: Run, tmp_path: Path) -> None:
    listed = xkg("cypher", "--list", kg=tmp_path / "none")
    assert "\nconcepts\n" in listed.out
    assert "  component-tree\n    A paper's techniques as a tree" in listed.out
    assert "    limit: integer = 20  (maximum number of rows)\n" in listed.out
    known = json.loads(xkg("cypher", "--list", "--json", kg=tmp_path / "none").out)
    assert {query["name"] for query in known} >= {"component-tree", "most-cited-works", "costs-by-month"}
    assert {"neo4j", "embedded"} == next(set(q["statements"]) for q in known if q["name"] == "component-tree")
    rows = list(csv.DictReader(io.StringIO(xkg("cypher", "--list", "--format", "csv", kg=tmp_path / "none").out)))
    assert [row["name"] for row in rows] == [query["name"] for query in known]
    tree = next(row for row in rows if row["name"] == "component-tree")
    assert (tree["group"], tree["parameters"]) == ("techniques", "paper: string")


def test_cypher_runs_named_queries_and_statements_with_values(xkg: Run, published: Path) -> None:
    tree = ("cypher", "component-tree", "--param", f"paper={EXAMPLE_ID}", "--json")
    rows = json.loads(xkg(*tree, kg=published).out)
    assert rows[0]["position"] == "001"
    assert [row["depth"] for row in rows] == [row["position"].count(".") for row in rows]
    statement = "MATCH (t:Technique) WHERE t.depth = $depth AND t.id IN $ids RETURN t.name AS name"
    values = ("--param", "depth=0", "--param", f'ids=["{MEDIANS}#compound-smoother"]')
    assert json.loads(xkg("cypher", statement, *values, "--json", kg=published).out) == [{"name": "Compound smoother"}]


def test_half_a_surrogate_pair_is_printed(xkg: Run, tmp_path: Path) -> None:
    source = json.loads((PEER / "running_medians.json").read_text())
    source["paper_title"] = "Half \ud800 a Pair"
    (tmp_path / "odd.json").write_text(json.dumps(source))
    kg = tmp_path / "odd"
    assert xkg("import", tmp_path, kg=kg).code == 0
    papers = json.loads(xkg("search", "running median", "--json", kg=kg).out)["rows"]
    assert papers[0]["paper_title"] == "Half \ud800 a Pair"
    shown = xkg("search", "running median", kg=kg)
    assert (shown.code, shown.err) == (0, "")
    assert "paper title Half a Pair" in shown.out


# --- stored files -----------------------------------------------------------------------------------------------------


def test_a_removed_paper_comes_back_with_rollback(xkg: Run, graph: Path) -> None:
    assert xkg("remove", EXAMPLE_ID, kg=graph) == (0, f"removed {EXAMPLE_ID}; the graph is generation 3\n", "")
    assert xkg("show", EXAMPLE_ID, kg=graph).code == 1
    assert xkg("store", "rollback", kg=graph).out == "the graph is generation 2 again\n"
    assert xkg("show", EXAMPLE_ID, kg=graph).code == 0


def test_an_import_takes_the_good_and_names_the_bad(xkg: Run, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_bytes((PEER / "running_medians.json").read_bytes())
    (tmp_path / "half.json").write_text('{"paper_title": ')
    result = xkg("import", tmp_path, kg=tmp_path / "graph")
    assert result.code == 1
    assert "half.json" in result.err
    assert result.line.endswith("fix them, then import again")
    assert result.out == "imported 1 paper, 1 file left out; the graph is generation 1\n"
    assert xkg("show", MEDIANS, kg=tmp_path / "graph").code == 0


def test_files_as_a_shell_names_them_are_imported(xkg: Run, published: Path, tmp_path: Path) -> None:
    exported = tmp_path / "out"
    xkg("export", EXAMPLE_ID, "--format", "bundle", "--to", exported, kg=published)
    (exported / "ablations.json").write_text("[]")
    files = sorted((*PEER.glob("*.json"), *exported.glob("*.json")))
    result = json.loads(xkg("import", *files, exported, "--json", kg=tmp_path / "graph").out)
    assert result["problems"] == []
    assert len(result["papers"]) == len(files) - 1
    missing = xkg("import", *files, tmp_path / "none.json", kg=tmp_path / "other")
    assert "none.json: no such file or folder" in missing.line


def test_a_plan_for_a_person_names_commands(xkg: Run, published: Path) -> None:
    plan = xkg("ablate", "plan", "running-medians", "--llm", "none", kg=published).out
    assert "REMOVE" in plan
    assert "to search a repository, pass --repo FOLDER" in " ".join(plan.split())


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "arxiv:1.2"], "`xkg papers` lists the papers"),
        (["show", f"{EXAMPLE_ID}#nothing"], "nearest: stein-variational-gradient-descent"),
        (["search", "  "], "the query is empty"),
        (["cypher", "component-tree", "--param", "paper=runing medians"], "nearest: running-medians-for"),
        (["cypher", "MATCH (t:Techniqe) RETURN t.name"], "did you mean Technique?"),
        (["remove", "nobody"], "`xkg papers` lists the papers"),
        (["cypher", "MATCH (n"], "never closed"),
        (["cypher", "MATCH (n) DELETE n"], "refused"),
        (["cypher", "component-tree"], "component-tree takes paper: string (pass --param paper=VALUE)"),
        (["build", "--paper", "2402.99999999"], "nor an arXiv id such as 2402.17135"),
        (["cypher", "packages", "--param", "package=numpy"], 'unknown parameter "package": packages takes limit'),
        (["import", "nowhere"], "no such file or folder"),
        (["build", "--paper", "nowhere.tex"], "does not exist"),
        (["build", "--paper", str(EXAMPLE / "paper"), "--id", "a#b"], "cannot be an id"),
        (["build", "--paper", str(EXAMPLE / "paper"), "--id", "arxiv:123"], "look like arxiv:1608.04471"),
        (["build", "--paper", str(EXAMPLE / "paper"), "--id", "arXiv:1608.04471v2"], "write it as arxiv:1608.04471"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(xkg: Run, published: Path, arguments: list[str], said: str) -> None:
    failed = xkg(*arguments, kg=published)
    assert failed.code == 1
    assert said in failed.line
    assert failed.out == ""


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["index"], ["store", "nothing"], ["search"], ["search", "x", "-k", "0"], ["build"],
     ["build", "--paper"], ["export", "--to", "x", "--format", "xml"], ["--nothing"], ["--kg"], ["cypher"],
     ["ablate", "apply"], ["cypher", "packages", "--param", "limit"],
     ["cypher", "packages", "--param", "limit=1", "--param", "limit=2"]],
)  # fmt: skip
def test_wrong_usage_is_told_in_one_line(xkg: Run, arguments: list[str]) -> None:
    failed = xkg(*arguments)
    assert (failed.code, failed.out) == (2, "")
    assert "usage: xkg " in failed.line or "xkg --help" in failed.line


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [(["implement", "svgd"], "`xkg implement --method svgd`"), (["ablate", "p"], "`xkg ablate --paper p`"),
     (["search", "x", "-k", "abc"], "give a whole number"),
     (["cypher", "component-tree", "paper=x"], "put text with several words in quotes, and --param before each")],
)  # fmt: skip
def test_wrong_usage_names_what_is_meant(xkg: Run, arguments: list[str], remedy: str) -> None:
    failed = xkg(*arguments)
    assert (failed.code, remedy in failed.line) == (2, True)


def test_a_graph_that_is_not_there_is_not_called_empty(xkg: Run, tmp_path: Path) -> None:
    assert f"there is no folder {tmp_path / 'new'}; run `xkg build" in xkg("papers", kg=tmp_path / "new").line


def test_a_query_needs_no_quotes(xkg: Run, published: Path) -> None:
    assert xkg("search", "running", "median", kg=published) == xkg("search", "running median", kg=published)


def test_the_version_can_be_asked_for(xkg: Run) -> None:
    assert xkg("--version") == (0, f"xkg {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [["search", "x"], ["show", "x"], ["cypher", "MATCH (n) RETURN n"], ["export", "--to", "out"], ["remove", "x"],
     ["index", "rebuild"], ["store", "rollback"]],
)  # fmt: skip
def test_an_empty_graph_says_what_fills_it(xkg: Run, tmp_path: Path, arguments: list[str]) -> None:
    failed = xkg(*arguments, kg=tmp_path / "new")
    assert failed.code == 1
    assert "import" in failed.line
    assert not (tmp_path / "new").exists()


def test_damage_is_told_and_mended(xkg: Run, graph: Path) -> None:
    vectors = graph / "generations" / "2" / "vectors.faiss"
    data = bytearray(vectors.read_bytes())
    data[len(data) // 2] ^= 1
    vectors.write_bytes(data)
    assert "`xkg index rebuild`" in xkg("search", "running median", kg=graph).line
    checked = xkg("index", "check", "--json", kg=graph)
    assert checked.code == 1
    assert "vectors.faiss" in json.loads(checked.out)["problems"][0]
    assert xkg("index", "rebuild", kg=graph) == (0, "rebuilt; the graph is generation 3\n", "")
    assert json.loads(xkg("index", "check", "--json", kg=graph).out) == {"generation": 3, "problems": []}
    assert xkg("search", "running median", kg=graph).code == 0


def test_a_file_in_the_place_of_the_graph(xkg: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for arguments in (["search", "x"], ["import", PEER], ["build", "--paper", EXAMPLE / "paper"], ["index", "rebuild"]):
        failed = xkg(*arguments, kg=tmp_path / "file")
        assert failed.code == 1
        assert "--kg" in failed.line
    assert (tmp_path / "file").read_text() == "mine"


def test_a_traceback_does_not_speak_to_the_terminal(xkg: Run, published: Path, tmp_path: Path) -> None:
    failed = xkg("-v", "import", tmp_path / "\x1b]0;title\x07.json", kg=published)
    assert failed.code == 1
    assert "Traceback" in failed.err
    assert not set(failed.err) & set("\x1b\x07")


def test_a_fault_of_its_own_is_one_line_too(xkg: Run, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("xkg.commands.graph.contents.show", broken)
    failed = xkg("show", "x", kg=published)
    assert failed.code == 1
    assert (
        failed.err
        == "xkg: this is a bug in xkg (ZeroDivisionError: two lines); run again with -v, and report the traceback\n"
    )


# --- as a process -----------------------------------------------------------------------------------------------------

COMMAND = [sys.executable, "-c", "from xkg.cli.main import main; main()"]


def test_a_reader_that_has_gone_is_no_error(published: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    gone = subprocess.run(
        [*COMMAND, "--kg", str(published), "show", EXAMPLE_ID],
        cwd=ROOT,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert gone.stderr == b""
