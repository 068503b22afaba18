"""Figures of the study that introduced executable knowledge graphs (arXiv 2510.17795), for orientation only. Papers,
models and judges differ from ours, so a difference is not a result."""

SOURCE = "arXiv 2510.17795"
VALID = "89.44 % valid"
F1 = ".95 / .89 / 1.00"
EXACT = "74.51 %"
LEVELS = {"executed or above, before debugging": "52.38 %", "executed or above, now": "100 %"}
COST = {"calls": "41.6", "tokens in": "255,768", "tokens out": "102,950", "dollars": "$0.73"}
