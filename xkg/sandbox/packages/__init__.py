"""Builds environments: from the imports of code to a folder of wheels.

May import: isolation, and the layers below sandbox."""
