"""Builds many papers from a list: several processes side by side, records of what was built, a report.

May import: the other commands, and what lies below them.
"""
