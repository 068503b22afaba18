"""Jobs that clients request: queue, table, processes.

May import: answers, and the layers below serve."""
