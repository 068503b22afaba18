"""Retrieval of bird calls by temporal echoes."""
