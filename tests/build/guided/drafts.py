"""Provides drafts of code for the tests of guided stages."""

from typing import Any

from xkg.build.guided.draft import Draft


def draft_of(implementation: str, test: str = "", **more: Any) -> Draft:
    fields = {"technique": "p#t", "name": "T", "documentation": "", "sources": (), "excerpt": "", **more}
    return Draft(implementation=implementation, test=test, **fields)
