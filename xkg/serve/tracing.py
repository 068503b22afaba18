"""OpenTelemetry, where it is installed (the extra `otel`) and the environment says where spans go."""

import logging
import os
from collections.abc import Callable

log = logging.getLogger(__name__)

WANTED = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def start() -> Callable[[], None]:
    """Sends the spans that the SDK of MCP draws, one a message, over OTLP; gives what ends it. The environment's OTEL_*
    variables hold all there is to set; without an endpoint among them, nothing is sent."""
    if not any(os.environ.get(name) for name in WANTED) or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return lambda: None
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("OTEL_* is set, and OpenTelemetry is not installed: pip install 'xkg[otel]'")
        return lambda: None
    os.environ.setdefault("OTEL_SERVICE_NAME", "xkg")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider.shutdown
