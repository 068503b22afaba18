"""Titles and arXiv ids, and text that is safe to store and print.

May import: nothing from xkg.
"""
