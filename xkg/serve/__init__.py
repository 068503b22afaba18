"""What can be asked of a graph: over MCP, HTTP and as a library.

May import: build, store, and what lies below. Reads the graph through store alone.
"""
