"""Curation measured on a loopback web: which of the papers that somebody else built around a target it finds."""
