"""Compares what two programs compute, statement by statement: how much of an implementation its source lines have.

May import: what lies below build.
"""
