"""The commands, each a function from settings to a typed result, and the code that assembles stores, sandboxes and
servers.

May import: web, agents, serve, and the layers below."""
