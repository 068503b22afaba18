"""The steps in a run: chooses the next step and executes it.

May import the other packages of `xkg implement`, but not the run or its report."""
