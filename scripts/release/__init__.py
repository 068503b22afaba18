"""What a release publishes beside the package: `bundle` (an MCP bundle and the registry's `server.json`), `tag`.

May import: xkg.
"""
