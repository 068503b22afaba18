"""Environments: from the imports of code to a folder of wheels.

May import: isolation, and what lies below sandbox.
"""
