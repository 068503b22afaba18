"""Implements the commands as functions that take settings and return typed results. Also assembles stores, sandboxes
and servers.

May import: web, agents, serve, and the layers below."""
