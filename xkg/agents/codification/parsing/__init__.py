"""The starter's and the agent's code held against each other in a confined process: its client and its tasks.

May import: protected of codification, the parsing of workspace, and what lies below agents.
"""
