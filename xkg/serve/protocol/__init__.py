"""The MCP server: registration of tools, resources, prompts and completion, schemas, error messages, stdio.

May import: tools, and the other packages of serve but http."""
