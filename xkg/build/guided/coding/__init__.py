"""A model writes a technique's code from its lines and their dependencies. The code is then run and checked.

May import: checking, repair_guard, and the packages of build without a model."""
