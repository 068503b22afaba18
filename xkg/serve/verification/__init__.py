"""Uses a language model to split tasks into steps and to verify search results.

May import from `search`, `answers`, and any layer below `serve`."""
