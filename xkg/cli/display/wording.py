"""Rewords notes and errors for terminal users, mentioning commands instead of MCP tools and arguments."""

import re

_WORDS = (
    (
        r"code: call get_code with a technique's id, or pass include_code",
        "code: use `xkg show` with a technique's code id",
    ),
    (r"code: get_code with a row's id, or detail='full'", "code: use `xkg show` with a row's code id, or --with-code"),
    (r": get_code has it", ": use `xkg show`"),
    (r"ask for the \w+'s id with detail='full'|call get_code with detail='full'", "use `xkg show` with this id"),
    (r"call again with detail='full'", "use --json for everything"),
    (r"read its uri", "use --json for everything"),
    (r"pass a larger k", "use -k for more"),
    (r"pass a larger `seconds`", "raise --seconds"),
    (r"pass the cursor|start again without a cursor", "use -k for more"),
    (r"or ask search_techniques in other words", "or search in other words"),
    (r"try search_techniques with what the paper is about", "try `xkg search` with what the paper is about"),
    (r"find the lines with `locate`", "find the lines with `xkg locate`"),
    (
        r"the model keeps working in the background; repeat the request in a minute",
        "raise `llm.seconds` to wait longer",
    ),
    (r"to search a repository, pass its folder", "to search a repository, pass --repo FOLDER"),
    (r"graph_schema lists them", "`xkg cypher --list` shows all"),
    (r"list_papers lists the papers", "`xkg papers` lists the papers"),
    (r"\(pass (\w+=VALUE)\)", r"(pass --param \1)"),
    (r"use the other tools, or serve", "use other commands, or serve"),
)
_PATTERNS = tuple((re.compile(pattern), words) for pattern, words in _WORDS)


def for_people(note: str) -> str:
    """Returns the note, with tools and arguments replaced by commands and options."""
    for pattern, words in _PATTERNS:
        note = pattern.sub(words, note)
    return note
