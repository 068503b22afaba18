"""What measurements read: graphs of any form, and rows that people or models wrote.

Imports of the project: `xkg` and nothing of `evaluation`.
"""
