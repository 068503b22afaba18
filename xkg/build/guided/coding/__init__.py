"""Has a model write a technique's code from its lines and their dependencies, then runs and checks the code.

May import: checking, repair_guard, and the packages of build without a model."""
