from scripts.reference.commands import all_commands
from scripts.reference.json_fields import PRINTED
from scripts.reference.pages import FOLDER, pages
from xkg.store.cypher.named_queries import embedded_schema


def test_the_pages_are_what_the_code_says() -> None:
    stale = [name for name, text in pages().items() if (FOLDER / name).read_text(encoding="utf-8") != text]
    assert not stale, "run `make reference` and commit what it writes"


def test_every_command_that_prints_json_has_its_fields_listed() -> None:
    printing = {
        command.name.removeprefix("xkg ")
        for command in all_commands()
        if any(names == "--json" for names, _ in command.parameters)
    }
    assert {name.partition(" --")[0] for name in PRINTED} == printing


def test_every_node_and_edge_of_the_schema_is_explained() -> None:
    page = (FOLDER / "graph.md").read_text(encoding="utf-8")
    labels = [line.split()[3] for line in embedded_schema().splitlines() if line.startswith("CREATE ")]
    assert len(labels) > 15
    assert [label for label in labels if label not in page] == []
