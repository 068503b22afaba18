"""The MCP tools, one module for what an agent wants.

May import: the other packages of serve except http.
"""
