"""Has a model write a technique's code from the located lines and their dependencies, then runs and checks the code.

May import: checking, repair_guard, and the packages in `build` that do not use a model."""
