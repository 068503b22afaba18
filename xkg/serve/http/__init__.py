"""The HTTP server: processes, authentication, limits, metrics and logs.

May import: tools, and the other packages of serve."""
