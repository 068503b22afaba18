"""Turns a query into ranked techniques: candidates, grouping, calibration. Also finds related papers and places in
repositories.

May import: answers, and the layers below serve."""
