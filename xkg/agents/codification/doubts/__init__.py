"""Raises doubts about a faultless answer: changes without effect, changed measurements, and failed property checks.

May import the session, the verdict and the prompts of `xkg implement`, but not its steps or its run."""
