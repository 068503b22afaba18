"""Measures curation on a local web server: how many of the papers that people selected for a target does it find?"""
