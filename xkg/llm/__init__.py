"""Language models: endpoints, answer cache, ledger, budget and prompts.

May import: config, files, errors."""
