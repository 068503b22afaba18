"""Runs the HTTP server, with authentication, limits, metrics and logs.

May import from `tools` and the other packages in `serve`."""
