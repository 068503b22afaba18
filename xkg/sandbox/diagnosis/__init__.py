"""Diagnoses missing packages, GPUs and downloads from a failed command's output and from its attempts to use the
network.

This package may import the other packages in `sandbox` and the layers below."""
