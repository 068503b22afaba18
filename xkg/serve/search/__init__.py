"""Ranks techniques for a query in three steps: candidates, grouping and calibration. Also finds related papers, and the
lines in a repository that implement a technique.

May import from `answers` and any layer below `serve`."""
