"""The sources that the benchmark's agents read: the files of a paper, and a graph through its MCP server.

Imports nothing else from the project."""
