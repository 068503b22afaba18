"""The MCP server: tools, resources, prompts, schemas, error messages and stdio.

May import from `tools` and the other packages in `serve`, except `http`."""
