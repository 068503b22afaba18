"""Language model support for search: splitting a task into steps, and verifying rows.

May import: search, answers, and the layers below serve."""
