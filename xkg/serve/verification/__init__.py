"""Language model support for search: rewording a query, splitting a task into steps, and verifying rows.

May import: search, answers, and the layers below serve."""
