"""Derives levels from runs, static checks, mutation testing and failure causes.

This package may import the other packages in `sandbox` and the layers below."""
