"""Prevents repairs that cheat: weakening a test, emptying a function, reading the expected answer.

May import: the layers below build."""
