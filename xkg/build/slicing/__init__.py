"""From a symbol to one module that runs: what it depends on, flattened.

May import: code, and what lies below build.
"""
