"""Measures curation with local web servers: how many of the papers that people selected for a target does curation
find?"""
