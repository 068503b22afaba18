"""From a query to ranked techniques: candidates, grouping, calibration; related papers, and places in repositories.

May import: answers, and what lies below serve.
"""
