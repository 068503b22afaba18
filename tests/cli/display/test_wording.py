"""Checks that no text for people at a terminal mentions an MCP tool or one of its arguments."""

import ast
import re
from collections.abc import Iterator

from tests.conftest import ROOT
from xkg.cli.display.wording import for_people

OF_TOOLS = re.compile(
    r"get_(?:paper|technique|code)|list_papers|graph_schema|plan_context|job_status|search_techniques|find_implementations|related_papers|detail=|include_code|"
    r"\bcursor\b|\buri\b|larger k\b|pass its folder"
)
NOT_SHOWN = ("tools/", "jobs/", "http/", "prompts.py", "stdio.py", "answers/paging.py", "answer_text.py")


def texts() -> Iterator[str]:
    """Returns all texts of the modules that commands share with the server, because any of them may appear in answers
    and errors."""
    for folder in ("xkg/serve", "xkg/store"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(part in str(path.relative_to(ROOT / folder)) for part in NOT_SHOWN):
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            # Docstrings are excluded, and so are strings that document a constant.
            notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                text = node.value if isinstance(node, ast.Constant) and id(node) not in notes else None
                if isinstance(text, str) and " " in text and "\n" not in text:
                    yield text


def test_no_text_names_a_tool() -> None:
    of_tools = [text for text in texts() if OF_TOOLS.search(text)]
    assert len(of_tools) > 8
    assert [text for text in of_tools if OF_TOOLS.search(for_people(text))] == []
