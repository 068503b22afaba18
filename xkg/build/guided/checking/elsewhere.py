"""Finds more lines of a repository for a review. They may implement statements that a module's source lines lack."""

from collections.abc import Callable, Sequence

from xkg.build.grounding.repository_lines import FoundLines, Shown
from xkg.build.guided.checking.debug import CUT
from xkg.build.guided.checking.fidelity import Compared, compared_sources
from xkg.build.guided.definition_statements import statements_of
from xkg.build.guided.draft import Draft
from xkg.errors import EmbeddingError

Search = Callable[[str, Sequence[str], Shown, Sequence[str]], Sequence[FoundLines]]
"""Finds lines of a repository for a technique's name and statements: first lines omitted from the shown symbols, then
others. Of the latter, symbols named like the given ids come first."""


def other_lines(draft: Draft, search: Search | None) -> tuple[FoundLines, ...]:
    """The lines nearest to the statements that the draft's author did not find in the source lines. Empty if there are
    no such statements."""
    statements = statements_of(draft.definition)
    lacking = [statements[n - 1] for n in draft.lacking if 0 < n <= len(statements)]
    if search is None or not lacking:
        return ()
    compared = compared_sources(draft)
    # includes lines that the check reads in the module instead
    own = compared if compared.endswith(CUT) else draft.own_excerpt or draft.excerpt
    shown = Shown(text=f"{own}\n{draft.beside}", symbols=draft.partly, gaps=draft.gaps)
    try:
        return tuple(search(draft.name, lacking, shown, draft.sources))
    except EmbeddingError:
        return ()


def with_lines_found(draft: Draft, compared: Sequence[Compared], others: Sequence[FoundLines]) -> Draft:
    """Adds the lines that the review cites to the draft's source lines, and removes the author's remarks that the
    repository lacks these statements."""
    statements = statements_of(draft.definition)
    found = {
        each.statement: lines
        for each in compared
        if 0 < each.statement <= len(statements)
        and (lines := [others[n - 1] for n in each.lines if 0 < n <= len(others)])
    }
    if not found:
        return draft
    own = draft.own_excerpt or draft.excerpt
    every = dict.fromkeys(line for lines in found.values() for line in lines)
    added = "".join(f"\n# --- {each.place}\n{each.text}\n" for each in every)
    longer = f"{own.rstrip()}\n{added}"
    others_of = {name: tuple(n for n in numbers if n not in found) for name, numbers in draft.by_definition.items()}
    by_definition = {name: numbers for name, numbers in others_of.items() if numbers}
    told = [f"Statement {n} is done in {', '.join(each.place for each in lines)}." for n, lines in found.items()]
    return draft.model_copy(
        update={
            "own_excerpt": longer if draft.own_excerpt else "",
            "excerpt": longer + draft.excerpt[len(own) :],
            "second_places": {statements[n - 1]: tuple(each.symbol for each in lines) for n, lines in found.items()},
            "declared": tuple(d for d in draft.declared if not any(d.startswith(f"[{n}]") for n in found)),
            "by_definition": by_definition,
            "lacking": tuple(n for n in draft.lacking if n not in found),
            "found_elsewhere": " ".join(told),
        }
    )
