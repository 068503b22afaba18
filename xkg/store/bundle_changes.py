"""Computes the differences between two states of a paper: its version, repositories, techniques, code locations and
levels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from xkg.model import Code, Location, PaperBundle, Symbol, Technique
from xkg.value import Value

_LISTED = 20


class TechniqueChange(Value):
    """A changed technique. `before` and `after` are the technique's names, or None if the technique does not exist in
    that state. `fields` lists the changed fields."""

    id: str
    before: str | None
    after: str | None
    fields: tuple[str, ...] = ()


class PlaceChange(Value):
    """A change in a technique's best code location. `before` and `after` have the form `path::symbol:first-last`, or
    are None if there is no location. `moved` means that the same symbol is now on different lines of the same file."""

    id: str
    name: str
    before: str | None
    after: str | None
    moved: bool


class LevelChange(Value):
    """A change in a technique's code. `before` and `after` are levels. The level is `none` if there is no code.
    `rewritten` means that the implementation or test changed."""

    id: str
    name: str
    before: str
    after: str
    rewritten: bool


class PaperChange(Value):
    """The differences between two states of a paper. `sources` describes changes in the version, repository or title,
    one per line. Technique ids do not include the paper's id."""

    paper: str
    title: str
    sources: tuple[str, ...] = ()
    techniques: tuple[TechniqueChange, ...] = ()
    places: tuple[PlaceChange, ...] = ()
    levels: tuple[LevelChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.sources or self.techniques or self.places or self.levels)

    def __str__(self) -> str:
        lines = [f"{self.title}\n  {self.paper}", *(f"  {line}" for line in self.sources)]
        if self.is_empty:
            return f"{lines[0]}: techniques, places and levels are the same"
        lines += _section("techniques", self.techniques, [_technique_line(each) for each in self.techniques])
        lines += _section("places", self.places, [_place_line(each) for each in self.places])
        lines += _section("levels", self.levels, [_level_line(each) for each in self.levels])
        return "\n".join(lines)


def paper_change(before: PaperBundle | None, after: PaperBundle | None) -> PaperChange:
    """Returns the differences between two states of a paper, or between two papers. Techniques are matched by their
    path in the hierarchy. Hidden techniques are ignored. `before` or `after` is None if the paper does not exist in
    that state."""
    last = after or before
    if last is None:
        raise ValueError("neither state contains a paper")
    first, second = _State.of(before), _State.of(after)
    ids = list(dict.fromkeys((*second.techniques, *first.techniques)))
    return PaperChange(
        paper=last.paper.id,
        title=last.paper.title,
        sources=tuple(_sources(before, after)),
        techniques=tuple(filter(None, (_technique(each, first, second) for each in ids))),
        places=tuple(filter(None, (_place(each, first, second) for each in ids))),
        levels=tuple(filter(None, (_level(each, first, second) for each in ids))),
    )


class _State(NamedTuple):
    techniques: Mapping[str, Technique]
    code: Mapping[str, Code]
    places: Mapping[str, tuple[Location, Symbol]]

    @classmethod
    def of(cls, bundle: PaperBundle | None) -> "_State":
        if bundle is None:
            return cls({}, {}, {})
        techniques = {_path(each.id): each for each in bundle.techniques if each.hidden is None}
        symbols = {symbol.id: symbol for symbol in bundle.symbols}
        places: dict[str, tuple[Location, Symbol]] = {}
        for place in sorted(bundle.locations, key=lambda place: place.rank):
            places.setdefault(_path(place.technique), (place, symbols[place.symbol]))
        return cls(techniques, {_path(each.technique): each for each in bundle.code}, places)

    def place(self, path: str) -> tuple[str, str] | None:
        if path not in self.techniques or path not in self.places:
            return None
        symbol = self.places[path][1]
        name = f"{symbol.path}::{symbol.qualified_name}" if symbol.qualified_name else symbol.path
        return name, f"{name}:{symbol.start_line}-{symbol.end_line}"


def _sources(before: PaperBundle | None, after: PaperBundle | None) -> Iterator[str]:
    if before is None or after is None:
        yield "the paper was added" if before is None else "the paper was removed"
        return
    for name in ("id", "title", "arxiv_version", "state"):
        old, new = getattr(before.paper, name), getattr(after.paper, name)
        if old != new:
            yield f"{name.replace('_', ' ')}: {old or 'unknown'} -> {new or 'unknown'}"
    old_text, new_text = before.paper.source_sha256, after.paper.source_sha256
    if old_text != new_text and before.paper.arxiv_version == after.paper.arxiv_version:
        yield "the paper's text differs"
    olds, news = ({each.id for each in bundle.repositories} for bundle in (before, after))
    gone, new_ones = sorted(olds - news), sorted(news - olds)
    if gone or new_ones:
        yield f"repository: {', '.join(gone) or 'none'} -> {', '.join(new_ones) or 'none'}"


def _technique(path: str, first: _State, second: _State) -> TechniqueChange | None:
    old, new = first.techniques.get(path), second.techniques.get(path)
    if old is None or new is None:
        return TechniqueChange(id=path, before=old.name if old else None, after=new.name if new else None)
    fields = tuple(
        name for name in ("name", "aliases", "kind", "definition") if getattr(old, name) != getattr(new, name)
    )
    return TechniqueChange(id=path, before=old.name, after=new.name, fields=fields) if fields else None


def _place(path: str, first: _State, second: _State) -> PlaceChange | None:
    old, new = first.place(path), second.place(path)
    if old == new:
        return None
    return PlaceChange(
        id=path,
        name=_name(path, first, second),
        before=old and old[1],
        after=new and new[1],
        moved=old is not None and new is not None and old[0] == new[0],
    )


def _level(path: str, first: _State, second: _State) -> LevelChange | None:
    old, new = (state.code.get(path) if path in state.techniques else None for state in (first, second))
    before, after = (code.level.value if code is not None else "none" for code in (old, new))
    rewritten = (old and (old.implementation, old.test)) != (new and (new.implementation, new.test))
    if before == after and not rewritten:
        return None
    return LevelChange(id=path, name=_name(path, first, second), before=before, after=after, rewritten=rewritten)


def _name(path: str, first: _State, second: _State) -> str:
    found = second.techniques.get(path) or first.techniques.get(path)
    return found.name if found is not None else path


def _path(technique: str) -> str:
    return technique.partition("#")[2]


def _section(title: str, changes: Sequence[object], lines: Sequence[str]) -> list[str]:
    if not changes:
        return []
    more = [f"    … {len(lines) - _LISTED} more: --json lists all"] if len(lines) > _LISTED else []
    return [f"  {title}: {len(changes)}", *(f"    {line}" for line in lines[:_LISTED]), *more]


def _technique_line(change: TechniqueChange) -> str:
    if change.before is None or change.after is None:
        return f"+ {change.after}" if change.before is None else f"- {change.before}"
    renamed = f" (was {change.before})" if change.before != change.after else ""
    return f"~ {change.after}{renamed}: {', '.join(change.fields)}"


def _place_line(change: PlaceChange) -> str:
    how = " (moved)" if change.moved else ""
    return f"{change.name}: {change.before or 'nowhere'} -> {change.after or 'nowhere'}{how}"


def _level_line(change: LevelChange) -> str:
    rewritten = " (other code)" if change.rewritten and "none" not in (change.before, change.after) else ""
    return f"{change.name}: {change.before} -> {change.after}{rewritten}"
