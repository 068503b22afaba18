"""Finds and repairs faults in code that a model wrote: failing runs, weak tests, low fidelity.

May import: repair_guard, and the packages in `build` that do not use a model."""
