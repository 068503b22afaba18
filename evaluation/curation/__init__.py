"""Measures how many of the papers that people selected for a target are found by curation. Requests go to local web
servers."""
