"""The MCP tools, one module for what an agent wants.

May import: the other rooms of serve but http.
"""
