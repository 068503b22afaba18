"""Builds environments by turning the imports in code into a folder of wheels.

This package may import `isolation` and the layers below `sandbox`."""
