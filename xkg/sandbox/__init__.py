"""Runs untrusted code and decides what a run proves.

This package may import config, model, files and errors.
"""
