"""The version of xkg: the version of the last tag, which the build writes next to this file."""

try:
    from xkg._version import __version__ as __version__
except ModuleNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
