"""Logs of the HTTP server: one JSON object a line on stderr, about requests and never of what they hold."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Literal, get_args

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = get_args(Level)


class JsonLines(logging.Formatter):
    """Time, level, where it comes from, the event, and what `extra={"facts": {…}}` adds. Of an exception the type and
    the place: its message and its traceback may hold what a caller asked, and are shown at `debug` alone."""

    def __init__(self, *, whole: bool) -> None:
        super().__init__()
        self._whole = whole

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage().strip(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            if frames:
                line["at"] = f"{frames[-1].filename}:{frames[-1].lineno}"
            if self._whole:
                line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level: Level) -> None:
    """Takes over all loggers of this process. Those of libraries speak from `warning` on, at `debug` from there."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(whole=level == "debug"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("xkg").setLevel(level.upper())
    if level == "debug":
        logging.getLogger("mcp").setLevel(logging.DEBUG)
        logging.getLogger("uvicorn").setLevel(logging.DEBUG)
    elif level == "error":
        logging.getLogger().setLevel(logging.ERROR)
