"""The version of xkg, taken from the last git tag. The build writes the version to `_version.py`."""

try:
    from xkg._version import __version__ as __version__
except ModuleNotFoundError:  # this is a source tree that was never installed
    __version__ = "0+unknown"
