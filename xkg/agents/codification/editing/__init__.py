"""Edits of the starter's files, applied exactly or refused, and what no edit may change.

May import the answers of models (`prompting`) and what lies below xkg.agents.
"""
