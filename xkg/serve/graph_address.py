"""The part of a resource address that names its graph."""

from contextvars import ContextVar

uri_of_graph: ContextVar[str] = ContextVar("uri_of_graph", default="")
"""`NAME/` while a graph other than the server's first one answers (`xkg.serve.graphs`)."""
