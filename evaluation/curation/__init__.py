"""Measures how many of the papers that people selected for a target curation finds. Requests go to local web
servers."""
