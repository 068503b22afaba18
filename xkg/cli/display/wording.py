"""Rewords notes and errors for terminal users: commands instead of MCP tools and arguments."""

import re

_WORDS = (
    (r"code: ask get_code for a technique's id, or with include_code", "code: `xkg show` of a technique's code id"),
    (r"code: get_code with a row's id, or detail='full'", "code: `xkg show` of a row's code id, or --with-code"),
    (r": get_code has it", ": `xkg show` has it"),
    (r"ask for the \w+'s id with detail='full'|ask get_code with detail='full'", "`xkg show` of its id"),
    (r"ask with detail='full'", "--json has all"),
    (r"read its uri", "--json has all"),
    (r"ask for a larger k", "-k asks for more"),
    (r"ask with the cursor|: ask again without it|, or ask without it", "-k asks for more"),
    (r"or ask search_techniques in other words", "or ask in other words"),
    (r"try search_techniques with what the paper is about", "try `xkg search` with what the paper is about"),
    (r"find the lines with `locate`", "find the lines with `xkg locate`"),
    (r"it continues in the background: ask the same again in a minute", "`llm.seconds` is how long it may take"),
    (r"name the folder of a repository to search that", "--repo FOLDER searches a repository"),
    (r"graph_schema lists them", "`xkg cypher --list` shows all"),
    (r"list_papers lists the papers", "`xkg papers` lists the papers"),
    (r"Named queries, for cypher by their name", "Named queries, for `xkg cypher` by their name"),
    (r"\(pass (\w+=VALUE)\)", r"(pass --param \1)"),
    (r"use the other tools, or serve", "use other commands, or serve"),
)
_PATTERNS = tuple((re.compile(pattern), words) for pattern, words in _WORDS)


def for_people(note: str) -> str:
    """Returns the note with commands and options in place of tools and arguments."""
    for pattern, words in _PATTERNS:
        note = pattern.sub(words, note)
    return note
