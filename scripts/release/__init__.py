"""Prepares a release. `bundle` creates an MCP bundle and the registry's `server.json`, and `tag` creates the tag.

May import: xkg."""
