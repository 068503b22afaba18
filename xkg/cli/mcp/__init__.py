"""`xkg mcp`: entries for MCP clients, and the clients' configuration files.

May import: commands, and the layers below them."""
