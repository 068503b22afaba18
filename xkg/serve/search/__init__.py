"""From a query to ranked techniques: candidates, grouping, calibration, the verifier.

May import: answers, and what lies below serve.
"""
