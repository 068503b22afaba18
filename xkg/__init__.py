"""xkg: executable knowledge graphs of papers, their techniques and the code that runs them."""

__version__ = "0.1.0"
