"""Defines filters for searches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypedDict, Unpack

from xkg.attestations.trust import trusted
from xkg.errors import InputError
from xkg.model import Level, paper_of
from xkg.serve.answers.references import paper_id, resolved
from xkg.store.graph_store import Facts, Snapshot
from xkg.text.plural import plural


class FilterFields(TypedDict, total=False):
    """The keyword arguments that create `Filters`. The level may be a string."""

    papers: Sequence[str]
    years: tuple[int | None, int | None]
    level: Level | str | None
    packages: Sequence[str]
    language: str | None
    exclude: Sequence[str]
    with_code: bool
    attested_by: str | None


@dataclass(frozen=True)
class Filters:
    """Filters for techniques.

    - `papers`: only these papers (ids or titles)
    - `years`: the first and last year of publication. Either may be None; papers without a year are excluded
    - `level`: only code with at least this level
    - `packages`: only code that needs all of these packages
    - `language`: only code in this language
    - `exclude`: references to papers, techniques and code to skip (`xkg.serve.answers.references`), such as
      techniques that the caller has already seen
    - `with_code`: only techniques with code
    - `attested_by`: only code for which this trusted key, given as a fingerprint, attests `level` or higher,
      regardless of other keys (`of` also accepts the key's name)"""

    papers: Sequence[str] = ()
    years: tuple[int | None, int | None] = (None, None)
    level: Level | None = None
    packages: Sequence[str] = ()
    language: str | None = None
    exclude: Sequence[str] = ()
    with_code: bool = False
    attested_by: str | None = None

    @classmethod
    def of(cls, **fields: Unpack[FilterFields]) -> Self:
        """Creates filters from keyword arguments. Raises `InputError` if the level is unknown or the key is not
        trusted."""
        level, by = fields.get("level"), fields.get("attested_by")
        fields["attested_by"] = trusted().named(by).key.fingerprint if by else None
        try:
            fields["level"] = None if level is None else Level(level)
        except ValueError as error:
            raise InputError(f"{level!a} is not a level; choose from {', '.join(Level)}") from error
        return cls(**fields)  # type: ignore[arg-type]

    def only(self, snapshot: Snapshot) -> tuple[str, ...] | None:
        """Returns the ids of the papers to search: () for all papers, or None if no paper passes the filters. Raises
        `UnknownIdError` if a paper is unknown."""
        named = tuple(dict.fromkeys(paper_id(snapshot, paper) for paper in self.papers))
        first, last = self.years
        if first is None and last is None:
            return named
        fitting = snapshot.of_years(first, last)
        return (tuple(p for p in named if p in set(fitting)) if named else tuple(fitting)) or None

    def resolved(self, snapshot: Snapshot) -> "Filters":
        """Returns the filters with full ids for the references in `exclude`."""
        return replace(self, exclude=resolved(snapshot, self.exclude)) if self.exclude else self

    @property
    def chosen(self) -> bool:
        """Whether any filter is set."""
        return bool(self.papers or self.years != (None, None) or self.of_techniques)

    @property
    def of_techniques(self) -> bool:
        """Whether any filter applies to individual techniques rather than whole papers."""
        return bool(self.level or self.packages or self.language or self.exclude or self.with_code or self.attested_by)

    def admit(self, technique: str, facts: Facts) -> bool:
        excluded = set(self.exclude)
        if technique in excluded or paper_of(technique) in excluded:
            return False
        packages = {_package(name) for name in facts.packages}
        return (
            (self.level is None or facts.level.rank >= self.level.rank)
            and (not self.language or facts.language.casefold() == self.language.casefold())
            and all(_package(name) in packages for name in self.packages)
            and (not self.with_code or bool(facts.language))
            and (not self.attested_by or self._is_attested(facts))
        )

    def _is_attested(self, facts: Facts) -> bool:
        counted = {key: level for key, level in facts.vouchers if key in trusted().names}
        return counted.get(self.attested_by or "", Level.NONE).rank >= (self.level or Level.IMPORTED).rank

    def describe(self) -> str:
        """Describes which techniques pass the filters."""
        conditions = [f"of level {self.level} or higher"] if self.level else []
        conditions += [f"in {self.language}"] if self.language else []
        by = self.attested_by and trusted().names.get(self.attested_by, self.attested_by)
        conditions += [f"attested by {by}"] if by else []
        conditions += [f"that needs {', '.join(self.packages)}"] if self.packages else []
        if conditions:
            scope = f"only techniques with code {' '.join(conditions)}"
        else:
            scope = "only techniques with code" if self.with_code else "all techniques"
        return scope + (f" but {plural(len(self.exclude), 'excluded id')}" if self.exclude else "")


def _package(name: str) -> str:
    """Normalizes a distribution name the way package indexes do."""
    return re.sub(r"[-_.]+", "-", name.strip()).casefold()
