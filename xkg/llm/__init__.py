"""The door to language models: endpoint, cache, ledger, budget, prompts.

May import: config, files, errors.
"""
