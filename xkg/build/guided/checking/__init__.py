"""Finds and repairs faults in code that a model wrote, such as failing runs, weak tests and low fidelity.

May import: repair_guard, and the packages in `build` that do not use a model."""
