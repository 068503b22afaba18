"""The version of xkg."""

__version__ = "0.1.0"
