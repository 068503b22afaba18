"""Provides the MCP tools.

May import from the other packages in `serve`, except `http`.
"""
