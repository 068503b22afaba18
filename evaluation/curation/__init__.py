"""Measures curation on a loopback web: which papers of a human-made selection around a target it finds."""
