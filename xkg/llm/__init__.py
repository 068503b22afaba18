"""Asks language models questions: endpoints, an answer cache, a ledger, a budget and prompts.

This package may import `config`, `files` and `errors`."""
