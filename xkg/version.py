"""The version of xkg: the last tag, which the build writes to `_version.py`."""

try:
    from xkg._version import __version__ as __version__
except ModuleNotFoundError:  # this is a source tree that was never installed
    __version__ = "0+unknown"
