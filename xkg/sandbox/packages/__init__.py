"""Builds environments: turns the imports in code into a folder of wheels.

May import: isolation, and the layers below sandbox."""
