"""Ranks techniques for a query in three steps: candidates, grouping and calibration. Also finds related papers, and
places in repositories where a technique is implemented.

May import from `answers` and any layer below `serve`."""
