"""Runs code that is untrusted, and says what a run proves.

May import: config, model, files, errors.
"""
