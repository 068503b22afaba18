"""Jobs requested by clients: queue, table and processes.

May import from `answers` and any layer below `serve`."""
