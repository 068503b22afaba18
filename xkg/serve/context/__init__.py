"""A paper as a context for a prompt, within a budget of tokens.

May import: answers, search, and what lies below serve.
"""
