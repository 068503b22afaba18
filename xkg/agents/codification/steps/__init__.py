"""Takes a run's steps: chooses the next step and executes it.

May import the other packages of `xkg implement`, but not the run or its report."""
