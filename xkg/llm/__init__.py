"""Language models: endpoints, answer cache, ledger, budget and prompts.

This package may import `config`, `files` and `errors`."""
