"""Configures logs and traces for the HTTP server. Logs are JSON lines on stderr and do not include request contents."""

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, get_args

from xkg.errors import install_extra

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = get_args(Level)


class JsonLines(logging.Formatter):
    """Formats a record as JSON with time, level, logger, event, and the fields in `extra={"facts": {…}}`. For
    exceptions, only the type and location are logged. Messages and tracebacks are only logged if `whole` is set,
    because they may contain parts of requests."""

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
    """Configures all loggers in this process. Libraries log at `warning` and above. At level `debug`, some libraries
    log everything."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(whole=level == "debug"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("xkg").setLevel(level.upper())
    if level == "debug":
        logging.getLogger("mcp").setLevel(logging.DEBUG)
        logging.getLogger("uvicorn").setLevel(logging.DEBUG)
    elif level == "error":
        logging.getLogger().setLevel(logging.ERROR)


log = logging.getLogger(__name__)

WANTED = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def start() -> Callable[[], None]:
    """Starts exporting the MCP SDK's spans, one per message, over OTLP. Returns a function that stops the export. The
    exporter is configured by the OTEL_* environment variables. If none of these sets an endpoint, nothing is
    exported."""
    if not any(os.environ.get(name) for name in WANTED) or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return lambda: None
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("OTEL_* is set, but OpenTelemetry is not installed; %s", install_extra("otel"))
        return lambda: None
    os.environ.setdefault("OTEL_SERVICE_NAME", "xkg")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider.shutdown
