"""`xkg mcp`: the entries of MCP clients, and their configuration files.

May import: commands, and what lies below them.
"""
