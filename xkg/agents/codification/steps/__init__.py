"""The steps in a run: chooses the next step, limits repeated actions from one pool, and executes the step.

May import the other packages of `xkg implement`, but not the run or its report."""
