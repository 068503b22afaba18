"""Builds that clients ask for: queue, table, processes.

May import: answers, and what lies below serve.
"""
