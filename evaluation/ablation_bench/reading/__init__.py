"""What agents of the benchmark read: the files of a paper, and a graph by its MCP server.

Imports nothing else of the project.
"""
