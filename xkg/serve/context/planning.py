"""Renders a paper for a planning agent: its components, their dependencies, and which of them have code. The code
itself is not included.

If the budget is too small, the least important parts are omitted first. The first to be omitted are the full abstract,
related papers, resources, findings and full definitions. Next come lines in repositories, repositories, first sentences
of definitions, packages, the build order and the beginning of the abstract. Components are omitted last, deepest
first."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from xkg.model import Finding, Resource, Technique
from xkg.serve.answers.quoting import one_line, quoted
from xkg.serve.answers.types import short
from xkg.serve.context.parts import Chosen, Step, document, first_words, indent, inline, quoted_below, reach, room, span
from xkg.serve.search.related import RelatedAnswer
from xkg.text.plural import plural

_ABSTRACT, _SENTENCE = 400, 200
_MOST_SHARED, _MOST_PACKAGES = 3, 30

_RELATED_ENOUGH = 0.1
"""Minimum score of a related paper. On 44 graphs, papers with lower scores were unrelated."""

# Order of the sections in the document.
_HEAD, _ABOUT, _COVERAGE, _TREE, _HIDDEN, _ORDER, _PACKAGES, _REPOSITORIES, _FINDINGS, _RESOURCES, _RELATED = range(11)


def planning(chosen: Chosen, budget_tokens: int, related: Callable[[], RelatedAnswer]) -> tuple[str, str]:
    """Returns the Markdown and its last line, which lists what was omitted. `related` is only called if related papers
    are to be included. Raises `InputError` if the budget is too small."""
    steps = list(_steps(chosen, related))
    total = Counter(step.group for step in steps)

    def left_out(done: int) -> str:
        left = Counter(step.group for step in steps[done:])
        parts = [f"{group} ({n} of {total[group]})" if total[group] > 1 else group for group, n in left.items()]
        return f"\nLeft out: {'; '.join(parts) or 'nothing'}."

    done = reach(steps, room(budget_tokens), lambda n: len(left_out(n)))
    return document(steps[:done], left_out(done)), left_out(done).strip()


def _steps(chosen: Chosen, related: Callable[[], RelatedAnswer]) -> Iterator[Step]:
    definitions: list[Step] = []
    yield Step("head", (_HEAD,), chosen.head("Plan of the paper"))
    paper, include = chosen.bundle.paper, chosen.include
    if "code" in include and chosen.techniques:
        yield Step("coverage", (_COVERAGE,), _coverage(chosen))
    if "techniques" in include:
        yield from _components(chosen)
        for n, hidden in enumerate(chosen.hidden):
            title = "\n## Components without code\n\n" * (n == 0)
            yield Step("components without code", (_HIDDEN, n), title + chosen.without_code(hidden))
    elif "code" in include and chosen.code:
        for n, technique in enumerate(chosen.code):
            line = f"- {chosen.name(technique)} {chosen.key(technique)}: {_level(chosen, technique)}"
            yield Step("code", (_TREE, n), "\n## Code\n\n" * (n == 0) + line)
    if "paper" in include and paper.abstract.strip():
        start = short(one_line(paper.abstract), _ABSTRACT)
        yield Step("abstract", (_ABOUT,), _about(chosen, start))
    if "techniques" in include and len(chosen.order) > 1:
        yield Step("build order", (_ORDER,), _order(chosen))
    if "code" in include and (packages := _packages(chosen)):
        yield Step("packages", (_PACKAGES,), packages)
    if "techniques" in include:
        yield from (definitions := list(_definitions(chosen)))
    if "repositories" in include:
        yield from _repositories(chosen)
    if "techniques" in include:
        yield from _whole_definitions(chosen, definitions)
    if "findings" in include:
        yield from _named("findings", _FINDINGS, "Findings", chosen.bundle.findings)
    if "resources" in include:
        yield from _named("resources", _RESOURCES, "Resources", chosen.bundle.resources)
    if "related" in include:
        yield from _related(related())
    if "paper" in include and len(one_line(paper.abstract)) > _ABSTRACT:
        yield Step("whole abstract", (_ABOUT,), _about(chosen, one_line(paper.abstract)))


def _about(chosen: Chosen, abstract: str) -> str:
    paper = chosen.bundle.paper
    authors = ", ".join(inline(author, 60) for author in paper.authors[:3]) + (
        " et al." if len(paper.authors) > 3 else ""
    )
    by = "; ".join(part for part in (authors, str(paper.year or "")) if part)
    return "\n## Abstract" + (f" ({by})" if by else "") + f"\n\n{quoted(abstract)}"


def _coverage(chosen: Chosen) -> str:
    levels = Counter(code.level for code in chosen.code.values())
    by_level = ", ".join(f"{n} {level.value}" for level, n in sorted(levels.items(), key=lambda x: -x[0].rank))
    partial = f" The graph of this paper is {chosen.bundle.paper.state}." * (chosen.bundle.paper.state != "complete")
    return (
        f"\nCode for {len(chosen.code)} of {len(chosen.techniques)} components"
        + (f": {by_level}" if by_level else "")
        + (f"; {len(chosen.hidden)} more ha{'ve' if len(chosen.hidden) > 1 else 's'} no code" if chosen.hidden else "")
        + f".{partial}"
    )


def _components(chosen: Chosen) -> Iterator[Step]:
    """Yields one line per component from the top of the hierarchy down, so that a parent always precedes its
    components."""
    title = "\n## Components (indented components are part of the one above)\n\n"
    for n, technique in sorted(enumerate(chosen.techniques), key=lambda x: (chosen.depth[x[1].id], x[0])):
        yield Step("components", (_TREE, n, 0), title * (n == 0) + _line(chosen, technique.id))


def _line(chosen: Chosen, technique: str) -> str:
    code = f": {_level(chosen, technique)}" if "code" in chosen.include else ""
    measured = chosen.ablations.get(technique)
    change = f"; measured {measured[0].change:+.1%} of {inline(measured[0].metric, 60)}" if measured else ""
    return f"{indent(chosen.depth[technique])}- **{chosen.name(technique)}** {chosen.key(technique)}{code}{change}"


def _level(chosen: Chosen, technique: str) -> str:
    code = chosen.code.get(technique)
    return f"code {code.standing}, {len(code.implementation.splitlines())} lines" if code else "no code"


def _definitions(chosen: Chosen) -> Iterator[Step]:
    """Yields the definitions' first sentences, from the top of the hierarchy down, without duplicates."""
    first_of: dict[str, int] = {}
    for n, technique in enumerate(chosen.techniques):
        first_of.setdefault(one_line(technique.definition), n)
    ordered = [(n, text) for text, n in first_of.items() if text]
    for n, text in sorted(ordered, key=lambda x: (chosen.depth[chosen.techniques[x[0]].id], x[0])):
        technique = chosen.techniques[n]
        yield Step("definitions", (_TREE, n, 1), _quoted(chosen, technique, first_words(text, _SENTENCE)))


def _whole_definitions(chosen: Chosen, first_sentences: Sequence[Step]) -> Iterator[Step]:
    for step in sorted(first_sentences, key=lambda step: len(chosen.techniques[step.place[1]].definition)):
        technique = chosen.techniques[step.place[1]]
        if (text := _quoted(chosen, technique, one_line(technique.definition))) != step.text:
            yield Step("whole definitions", step.place, text)


def _quoted(chosen: Chosen, technique: Technique, text: str) -> str:
    return quoted_below(text, chosen.depth[technique.id])


def _order(chosen: Chosen) -> str:
    """Returns the techniques' names without duplicates, each followed by the techniques that it uses in addition to its
    components."""
    names: dict[str, str] = {}
    for technique in chosen.order:
        name = chosen.name(technique)
        others = [other for other in chosen.uses[technique] if chosen.by_id[other].parent != technique]
        used = dict.fromkeys(other for other in map(chosen.name, others) if other != name)
        names[name] = names.get(name) or name + (f" (its code uses {', '.join(used)})" if used else "")
    return "\n## Build order (dependencies first)\n\n- " + "; ".join(names.values())


def _packages(chosen: Chosen) -> str:
    counts = Counter(package for code in chosen.code.values() for package in dict.fromkeys(code.versions))
    named = [f"{inline(name, 60)} ({n})" for name, n in sorted(counts.items(), key=lambda x: (-x[1], x[0]))]
    more = f" and {len(named) - _MOST_PACKAGES} more" if len(named) > _MOST_PACKAGES else ""
    title = "\n## Packages (with the number of techniques whose code needs them)\n\n- "
    return title + ", ".join(named[:_MOST_PACKAGES]) + more if named else ""


def _repositories(chosen: Chosen) -> Iterator[Step]:
    bundle = chosen.bundle
    for n, repository in enumerate(bundle.repositories):
        facts = [
            # If there is no URL, the id contains the commit.
            f"commit {repository.commit}" if repository.commit and repository.url else "",
            f"license {inline(repository.license, 60)}" if repository.license else "",
            "the authors' own" if repository.is_official else "",
            f"{plural(repository.stars, 'star')} on GitHub" if repository.stars is not None else "",
            "archived (read-only)" if repository.archived else "",
        ]
        title = "\n## Repositories\n\n" * (n == 0)
        named = inline(repository.url or repository.id, 300)
        yield Step("repositories", (_REPOSITORIES, n), f"{title}- {', '.join(filter(None, [named, *facts]))}")
    for n, technique in enumerate(chosen.techniques if "techniques" in chosen.include else ()):
        if places := chosen.places(technique.id):
            text = f"{indent(chosen.depth[technique.id] + 1)}in {places}"
            yield Step("lines in the repository", (_TREE, n, 2), text)


def _named(group: str, place: int, title: str, nodes: Sequence[Finding | Resource]) -> Iterator[Step]:
    for n, node in enumerate(nodes):
        heading = f"\n## {title}\n\n" * (n == 0)
        described = f": {one_line(node.description)}" if node.description else ""
        yield Step(group, (place, n), heading + quoted(one_line(node.name) + described))


def _related(answer: RelatedAnswer) -> Iterator[Step]:
    rows = (row for row in answer.rows if row.score >= _RELATED_ENOUGH)
    for n, row in enumerate(rows):
        shared = ", ".join(inline(pair.own_name, 60) for pair in row.shared[:_MOST_SHARED])
        nearest = ", ".join(inline(pair.own_name, 60) for pair in row.nearest[:_MOST_SHARED])
        why = [
            "is cited here" if row.cites else "",
            "cites this paper" if row.cited else "",
            f"has the same {shared}" if shared else "",
            f"has something similar to {nearest}" if nearest and not shared else "",
        ]
        year = f", {row.year}" if row.year else ""
        title = "\n## Related papers in this graph\n\n" * (n == 0)
        text = f"- {inline(row.title, 120)} ({span(row.id)}{year}, {row.score:g}): {'; '.join(filter(None, why))}"
        yield Step("related papers", (_RELATED, n), title + text)
