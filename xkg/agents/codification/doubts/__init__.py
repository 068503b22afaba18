"""Doubts about an answer that ran well: changes without effect, changed measurement, failed checks of the method.

May import the session, the verdict and the prompts of `xkg implement`, but neither its steps nor its run.
"""
