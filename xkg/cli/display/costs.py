"""The costs of a graph for a terminal."""

from xkg.cli.display.layout import table, width, wrapped
from xkg.llm.costs import Costs
from xkg.serve.answers.quoting import one_line


def cost_table(costs: Costs) -> str:
    """A row for each paper, stage or model, and their sum; records if rows are too wide."""
    columns, rows, notes = costs.cells()
    if not rows:
        return "\n".join(notes)
    plain = [[one_line(cell) for cell in row] for row in rows]
    room = width()
    return "\n".join([table(columns, plain, room, range(1, len(columns))), *(wrapped(note, room) for note in notes)])
