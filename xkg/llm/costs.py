"""Reports the cost of language model calls for `xkg costs`, from a graph's ledger (`xkg.llm.ledger`)."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from xkg.config import LlmSettings
from xkg.errors import CorruptStoreError, StoreError, UnknownIdError
from xkg.llm.ledger import LEDGER
from xkg.llm.prices import Prices
from xkg.text.unicode import encodable
from xkg.value import Value

By = Literal["paper", "stage", "model"]


class Cost(Value):
    """The calls for one paper, stage or model. `unusable` counts calls without a usable answer, and `reused` counts
    answers from the cache, which cost nothing. `cached_tokens` are the `input_tokens` that the endpoint billed at its
    lower price for cached input. `dollars` excludes the `unpriced` calls, which are calls to models with no known
    price."""

    name: str
    calls: int = 0
    unusable: int = 0
    reused: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0
    unpriced: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        sums = {name: value + getattr(other, name) for name, value in self if name != "name"}
        return Cost(name=self.name, **sums)


class Costs(Value):
    """A cost table, with the most expensive rows first, and a total. `open` is the number of calls that are running or
    were interrupted. Open calls may cost about `open_dollars`, and are not included in any other count.
    `unpriced_models` have no known price."""

    by: By
    rows: tuple[Cost, ...]
    total: Cost
    open: int
    open_dollars: float
    unpriced_models: tuple[str, ...]

    def __str__(self) -> str:
        columns, rows, notes = self.cells()
        return "\n".join([*(_aligned([columns, *rows]) if rows else []), *notes])

    def cells(self) -> tuple[Sequence[str], Sequence[Sequence[str]], Sequence[str]]:
        """Returns the column names, the rows (with a total if there are several), and the notes."""
        if not self.total.calls and not self.total.reused and not self.open:
            return (), (), ("no language model has been used for this graph yet",)
        rows = self.rows if len(self.rows) == 1 else (*self.rows, self.total)
        columns = (self.by, "calls", "unusable", "reused", "input", "cached", "share", "output", "seconds", "dollars")
        lines = []
        if self.open:
            lines.append(
                f"calls in progress or interrupted: {self.open}; they may cost about "
                f"${self.open_dollars:.4f}, and are not counted above"
            )
        if self.unpriced_models:
            lines.append(f"price unknown: {', '.join(self.unpriced_models)}; set it in llm.prices")
        return columns, [_cells(row) for row in rows], lines


def costs(kg: Path, settings: LlmSettings, papers: Sequence[str] = (), by: By = "paper") -> Costs:
    """Returns the costs of the graph in `kg`, for the given papers or for all papers. Works while a build is writing to
    the ledger. Calls recorded without a price are priced by the current settings.

    Raises `UnknownIdError` if the ledger has no calls for a paper, and `CorruptStoreError` if it cannot be read."""
    path = kg / LEDGER
    prices = Prices(settings.prices)
    rows: dict[str, Cost] = {}
    seen: set[str] = set()
    unpriced: set[str] = set()
    open_calls, open_dollars = 0, 0.0
    for paper, name, model, outcome, calls, *counts, seconds, known, total in _groups(path, papers, by):
        seen.add(paper)
        cost = total if known else prices.dollars(model, *counts)
        if outcome == "open":
            open_calls += calls
            open_dollars += cost or 0.0
            continue
        if cost is None:
            unpriced.add(model)
        answered = 0 if outcome == "reused" else calls
        entry = Cost(
            name=name,
            calls=answered,
            unusable=0 if outcome == "ok" else answered,
            reused=calls - answered,
            input_tokens=counts[0],
            cached_tokens=counts[1],
            output_tokens=counts[2],
            seconds=seconds,
            dollars=cost or 0.0,
            unpriced=answered if cost is None else 0,
        )
        rows[name] = rows[name] + entry if name in rows else entry
    if unknown := [paper for paper in papers if encodable(paper) not in seen]:
        raise UnknownIdError(
            f"the ledger of {kg} has no calls for {ascii(unknown[0])[1:-1]}: `xkg costs` lists its papers"
        )
    ordered = sorted(rows.values(), key=lambda row: (-row.dollars, -row.output_tokens, row.name))
    return Costs(
        by=by,
        rows=tuple(ordered),
        total=sum(ordered, Cost(name="all")),
        open=open_calls,
        open_dollars=open_dollars,
        unpriced_models=tuple(sorted(unpriced)),
    )


def _groups(path: Path, papers: Sequence[str], by: By) -> Iterator[tuple[Any, ...]]:
    if not path.exists():
        return
    chosen = f"WHERE paper IN ({', '.join('?' * len(papers))})" if papers else ""
    query = (
        f"SELECT paper, {by}, model, outcome, COUNT(*), SUM(input_tokens), SUM(cached_tokens), SUM(output_tokens), "
        f"SUM(seconds), dollars IS NOT NULL, SUM(dollars) FROM calls {chosen} "
        f"GROUP BY 1, 2, 3, 4, dollars IS NOT NULL"
    )
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)) as db:
            yield from db.execute(query, [encodable(paper) for paper in papers]).fetchall()
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} cannot be read ({error}); check its permissions") from error
    except sqlite3.DatabaseError as error:
        raise CorruptStoreError(
            f"{path} is corrupt ({error}): the next build sets it aside and recovers the readable rows"
        ) from error


def _cells(row: Cost) -> tuple[str, ...]:
    dollars = f"{row.dollars:.4f}" + (f" + {row.unpriced} calls" if row.unpriced else "")
    counts = (row.calls, row.unusable, row.reused, row.input_tokens, row.cached_tokens)
    share = f"{row.cached_tokens / row.input_tokens:.0%}" if row.input_tokens else "-"
    return (row.name, *(f"{n:,}" for n in counts), share, f"{row.output_tokens:,}", f"{row.seconds:.0f}", dollars)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])
        for name, *cells in rows
    ]
