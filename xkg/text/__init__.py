"""Titles and arXiv ids of works, and text that is safe to store and to print.

May import: nothing of xkg.
"""
