"""The commands, each a function from settings to a typed result, and the composition of stores, sandboxes and servers.

May import: web, agents, serve, and the layers below."""
