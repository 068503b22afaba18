"""Renders a paper as context for a prompt, within a token budget.

May import: answers, search, and the layers below serve."""
