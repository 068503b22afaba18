"""Prevents repairs that cheat by weakening a test, emptying a function or reading the expected answer.

May import: any layer below `build`."""
