"""Answers questions about a graph over MCP and HTTP, and as a library.

May import: build, store, and the layers below. Reads the graph only through `store`."""
