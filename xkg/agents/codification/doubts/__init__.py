"""Doubts about an answer that ran without faults: changes without effect, changed measurement, failed property checks.

May import the session, the verdict and the prompts of `xkg implement`, but neither its steps nor its run."""
