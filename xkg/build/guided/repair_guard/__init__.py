"""Prevents repairs that cheat: weakening a test, emptying a function, reading the expected answer.

May import: any layer below `build`."""
