"""The MCP server: registers tools, resources, prompts and completion, and handles schemas, error messages and stdio.

May import: tools, and the other packages of serve but http."""
