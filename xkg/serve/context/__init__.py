"""Renders a paper as context for a prompt, within a token budget.

May import from `answers`, `search`, and any layer below `serve`."""
