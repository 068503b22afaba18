"""The commands: functions that take settings and return typed results. Also the code that assembles stores, sandboxes
and servers.

May import: web, agents, serve, and the layers below."""
