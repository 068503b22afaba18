"""Measures curation on a local web server: which papers in a human-made selection around a target does it find?"""
