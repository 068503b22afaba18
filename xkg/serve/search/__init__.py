"""From a query to ranked techniques: candidates, grouping, calibration; also related papers, and places in
repositories.

May import: answers, and the layers below serve."""
