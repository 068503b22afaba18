"""Chooses and executes a run's steps.

May import the other packages of `xkg implement`, but not the run or its report."""
