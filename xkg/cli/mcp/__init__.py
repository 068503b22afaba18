"""Implements `xkg mcp`, which writes entries to the configuration files of MCP clients.

May import: commands, and the layers below them."""
