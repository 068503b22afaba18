"""The part of a resource's address that names its graph."""

from contextvars import ContextVar

uri_of_graph: ContextVar[str] = ContextVar("uri_of_graph", default="")
"""`NAME/` while another graph than the first one of a server answers (`xkg.serve.graphs`)."""
