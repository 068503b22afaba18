"""Finds the names that statements bind and use, and the definitions behind them.

May import from `code` and any layer below `build`."""
