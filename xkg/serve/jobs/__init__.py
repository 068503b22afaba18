"""Queues, stores and runs the jobs that clients request.

May import from `answers` and any layer below `serve`."""
