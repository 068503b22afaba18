"""Runs callers' scripts on code from the graph, in the sandbox.

May import from `answers`, `jobs`, `service`, and any layer below `serve`."""
