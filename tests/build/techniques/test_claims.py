from pathlib import Path

import pytest

from xkg.build.paper.read import parse_paper
from xkg.build.techniques.extract import extract

_LONG = " ".join(f"colony{n}" for n in range(14))


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("shorter nests keep more eggs warm, where we measure at night", "Shorter nests keep more eggs warm"),
        (f"nests keep eggs {_LONG} warm and dry", f"Nests keep eggs {_LONG} warm…"),
        (f"nests keep the eggs {_LONG} of a colony", f"Nests keep the eggs {_LONG}…"),
    ],
)
def test_a_name_ends_with_a_clause_or_says_that_it_was_cut(tmp_path: Path, claim: str, name: str) -> None:
    path = tmp_path / "paper.md"
    path.write_text(f"# Terns\n\n## Abstract\n\nWe show that {claim}.\n\n## Method\n\nTerns nest.\n", encoding="utf-8")
    assert [finding.name for finding in extract(parse_paper(path), "title:terns").findings] == [name]
