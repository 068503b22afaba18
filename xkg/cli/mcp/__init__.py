"""`xkg mcp`: the entries for MCP clients, and their configuration files.

May import: commands, and the layers below them."""
