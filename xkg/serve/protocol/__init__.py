"""Implements the MCP server, including resources, prompts, completion, schemas, error messages and stdio.

May import from `tools` and the other packages in `serve`, except `http`."""
