"""Raises doubts about a faultless answer: changes without effect, changed measurements, and failed property checks.

May import the session, verdict and prompts of `xkg implement`, but not its steps or run."""
