"""Runs untrusted code and decides what a run proves.

May import: config, model, files, errors.
"""
