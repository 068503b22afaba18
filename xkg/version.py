"""The version of xkg, which the build writes beside this file: that of the last tag."""

try:
    from xkg._version import __version__ as __version__
except ModuleNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
